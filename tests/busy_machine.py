"""Runs a command beside processes that use all the CPU they get: `python -m tests.busy_machine COUNT COMMAND...`.

Law: the busy processes end with this one, however it ends. Each looks whether its parent is still there; they are ended by
their ids, and nothing else is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

BUSY = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy_processes(count: int) -> Generator[list[subprocess.Popen[bytes]]]:
    """So many of them, at the usual priority, until the block is left."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            command = [sys.executable, "-S", "-c", BUSY, str(os.getpid())]
            # A Ctrl-C is for the command; these are ended when it has ended.
            started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def main(arguments: Sequence[str]) -> int:
    """The exit status of the command."""
    count, *command = arguments
    signal.signal(signal.SIGTERM, _leave)
    with busy_processes(int(count)) as started:
        ids = " ".join(str(process.pid) for process in started)
        sys.stderr.write(f"{count} busy processes: {ids}\n")
        sys.stderr.flush()
        running = subprocess.Popen(command)
        try:
            return running.wait()
        except KeyboardInterrupt:
            return running.wait()  # it has got the same Ctrl-C
        finally:
            if running.poll() is None:
                running.terminate()
                running.wait()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
