"""`accord` at a pseudo-terminal: waits for text on the screen, types, and reads all output."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.child_processes import ContenderFailed, end_group, environment

__all__ = ["Terminal", "at_terminal"]

ROWS, COLUMNS = 40, 120
SECONDS_PER_TEXT = 30


class Terminal:
    """The controlling side of a pseudo-terminal."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self._output = b""

    def wait_for(self, text: str) -> None:
        """Wait until this text is shown, after the text that was waited for before."""
        deadline = time.monotonic() + SECONDS_PER_TEXT
        while text.encode() not in self._output:
            if not self._read(deadline - time.monotonic()):
                raise ContenderFailed(f"{text!r} was not shown: timed out after {SECONDS_PER_TEXT} s")
        self._output = self._output.partition(text.encode())[2]

    def watch(self, seconds: float) -> None:
        """Read output for so many seconds."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)
        self._output = b""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        try:
            self._output += os.read(self._descriptor, 1 << 16)
        except OSError:  # the program has ended
            raise ContenderFailed(self._output.decode(errors="replace")[-500:] or "it ended without output") from None
        return True


@contextmanager
def at_terminal(*arguments: str) -> Iterator[Terminal]:
    """Run Python with these arguments at a terminal of its own."""
    pid, descriptor = pty.fork()
    if pid == 0:
        variables = {**environment(), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        os.execve(sys.executable, [sys.executable, *arguments], variables)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        yield Terminal(pid, descriptor)
    finally:
        end_group(pid)
        os.waitpid(pid, 0)
        os.close(descriptor)
