"""What is known of a started command, and where its program is."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from accord.errors import ConnectionClosed

__all__ = ["Child", "Pipes", "Start", "located"]


class Start(NamedTuple):
    """How to start a command; `grace` is what it gets between a polite end and a forced one when we die.

    With `only_writes` it reads nothing, and stdout and stderr are one pipe, in the order of what was written. It may
    have so many bytes of `memory`, where a guard starts it and the system counts them as Linux does; 0 for any number.
    """

    program: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    grace: float
    only_writes: bool = False
    memory: int = 0


class Child(Protocol):
    """A running command with everything below it."""

    stdin: int
    stdout: int
    stderr: int
    exited: asyncio.Future[int | None]
    gone: asyncio.Future[None]

    def terminate(self) -> None:
        """Ask everything to end."""
        ...

    def kill(self) -> None:
        """End everything."""
        ...

    def release(self) -> None:
        """Let go of it; what still runs is ended without us."""
        ...


class Pipes:
    """The pipes of a command: our ends have names, theirs are there until it has started.

    There are three. Of a command that `only_writes` there is one: `stderr` is `stdout`, and `stdin` is no descriptor.
    """

    def __init__(self, *, only_writes: bool = False) -> None:
        self._theirs: list[int] = []
        self._ours: list[int] = []
        try:
            self.their_stdin, self.stdin = self._nothing() if only_writes else self._pipe(theirs=0)
            self.stdout, self.their_stdout = self._pipe(theirs=1)
            self.stderr, self.their_stderr = (self.stdout, self.their_stdout) if only_writes else self._pipe(theirs=1)
        except BaseException:
            self.close()
            raise

    def _nothing(self) -> tuple[int, int]:
        # Not a pipe that is closed: programs such as ripgrep read a pipe rather than the directory they are in.
        null = os.open(os.devnull, os.O_RDONLY)
        self._theirs.append(null)
        return null, -1

    def _pipe(self, theirs: int) -> tuple[int, int]:
        ends = os.pipe()
        self._theirs.append(ends[theirs])
        self._ours.append(ends[1 - theirs])
        return ends

    def hand_over(self) -> None:
        """The command has its ends: ours to close them here, so that the end of one is seen at the other."""
        while self._theirs:
            os.close(self._theirs.pop())

    def close(self) -> None:
        """Close whatever is open."""
        self.hand_over()
        while self._ours:
            os.close(self._ours.pop())


def located(command: Sequence[str], env: Mapping[str, str], cwd: str) -> str:
    """The path of the command's program; raises `ConnectionClosed` that says what to do about it."""
    name = command[0]
    if not os.path.isdir(cwd):  # noqa: PTH112  # what no path can be is none, and no error
        raise ConnectionClosed(
            f"can't start {name!r}: the working directory {cwd!r} is not there; create it or pass another cwd"
        )
    has_directory = Path(name).name != name
    path = str(Path(cwd, name)) if has_directory else name
    found = shutil.which(path, path=env.get("PATH", os.defpath))
    if found is not None:
        return str(Path(found).absolute())
    if not has_directory:
        raise ConnectionClosed(
            f"can't start {name!r}: there is no such program on PATH; install it, or give its full path"
        )
    if not os.path.exists(path):  # noqa: PTH110  # as above
        raise ConnectionClosed(f"can't start {name!r}: there is no such file; check the path, or install it")
    raise ConnectionClosed(
        f"can't start {name!r}: it is not executable; run chmod +x on it, or put its interpreter in front of it"
    )
