"""`accord` at a pseudo-terminal, seen from outside: when it shows something, and what it costs when nobody does anything."""

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
SECONDS_PER_SIGHT = 30


class Terminal:
    """Whoever sits before it reads all that comes, and types."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self._shown = b""

    def wait_for(self, text: str) -> None:
        """Until this is shown, after what was waited for before."""
        deadline = time.monotonic() + SECONDS_PER_SIGHT
        while text.encode() not in self._shown:
            if not self._read(deadline - time.monotonic()):
                raise ContenderFailed(f"{text!r} was not shown in {SECONDS_PER_SIGHT} s")
        self._shown = self._shown.partition(text.encode())[2]

    def watch(self, seconds: float) -> None:
        """For so long, and do nothing."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)
        self._shown = b""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        try:
            self._shown += os.read(self._descriptor, 1 << 16)
        except OSError:  # nobody has the other end open any more
            raise ContenderFailed(self._shown.decode(errors="replace")[-500:] or "ended without a word") from None
        return True


@contextmanager
def at_terminal(*arguments: str) -> Iterator[Terminal]:
    """Python with these arguments at a terminal of its own."""
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
