"""Starts a command without a guard, and describes a started command.

On Windows (not tested there) everything in the job ends when our handle of it closes, so also when we are killed.
Inside a frozen program on other systems the command's session is ended with it, but not if we ourselves are killed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from accord.errors import ConnectionClosed

__all__ = ["Child", "Pipes", "Start", "UnguardedChild", "located", "start_unguarded"]


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
            f"can't start {name!r}: the working directory {cwd!r} is not there; create it or pass another cwd",
            kind="not_started",
        )
    has_directory = Path(name).name != name
    path = str(Path(cwd, name)) if has_directory else name
    found = shutil.which(path, path=env.get("PATH", os.defpath))
    if found is not None:
        return str(Path(found).absolute())
    if not has_directory:
        raise ConnectionClosed(
            f"can't start {name!r}: there is no such program on PATH; install it, or give its full path",
            kind="not_started",
        )
    if not os.path.exists(path):  # noqa: PTH110  # as above
        raise ConnectionClosed(
            f"can't start {name!r}: there is no such file; check the path, or install it", kind="not_started"
        )
    raise ConnectionClosed(
        f"can't start {name!r}: it is not executable; run chmod +x on it, or put its interpreter in front of it",
        kind="not_started",
    )


if sys.platform == "win32":
    from accord.transports.windows_job import Job


async def start_unguarded(start: Start) -> UnguardedChild:
    """Returns when the command runs."""
    try:
        return UnguardedChild(start)
    except OSError as error:
        raise ConnectionClosed(f"can't start {start.command[0]!r}: {error}", kind="not_started") from error


class UnguardedChild:
    """Its future `gone` is done when the command has ended: what that leaves behind is ended by `release()`."""

    def __init__(self, start: Start) -> None:
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int | None] = self._loop.create_future()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        pipes = Pipes(only_writes=start.only_writes)
        self.stdin, self.stdout, self.stderr = pipes.stdin, pipes.stdout, pipes.stderr
        try:
            self._process = _run(start, pipes)
        except BaseException:
            pipes.close()
            raise
        pipes.hand_over()
        if sys.platform == "win32":
            self._job = Job(self._process)
        threading.Thread(target=self._wait, name="accord child", daemon=True).start()

    def terminate(self) -> None:
        if sys.platform == "win32":
            with suppress(OSError):
                self._process.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            self._signal_group(signal.SIGTERM)

    def kill(self) -> None:
        if sys.platform == "win32":
            self._job.kill()
        else:
            self._signal_group(signal.SIGKILL)

    def release(self) -> None:
        self.kill()
        if sys.platform == "win32":
            self._job.close()

    def _signal_group(self, number: int) -> None:
        if sys.platform != "win32":
            with suppress(OSError):
                os.killpg(self._process.pid, number)

    def _wait(self) -> None:
        code = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._ended, code)

    def _ended(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)
        if not self.gone.done():
            self.gone.set_result(None)


def _run(start: Start, pipes: Pipes) -> subprocess.Popen[bytes]:
    creation = 0
    if sys.platform == "win32":
        creation = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW | Job.STARTS_SUSPENDED
    return subprocess.Popen(  # noqa: S603  # the user's command is what we are for
        list(start.command),
        executable=start.program,
        stdin=pipes.their_stdin,
        stdout=pipes.their_stdout,
        stderr=pipes.their_stderr,
        env=dict(start.env),
        cwd=start.cwd,
        start_new_session=True,
        creationflags=creation,
    )
