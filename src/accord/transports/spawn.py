"""Starts a child process: finds the program, creates the pipes, and runs it without a guard process.

On Windows (not tested there) everything in the job ends when our handle to it closes, even if we are killed. In a frozen
program on other systems the command's session ends with it, but not if we are killed.
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


class SpawnOptions(NamedTuple):
    """How to start a command; `grace` is the time between SIGTERM and SIGKILL if we die.

    With `only_writes` stdin is the null device, and stdout and stderr are one pipe, in the order of writing. `memory`
    limits its bytes if a guard starts it and the system counts them as Linux does; 0 for no limit.
    """

    program: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    grace: float
    only_writes: bool = False
    memory: int = 0


class ChildProcess(Protocol):
    """A running command and all its descendants: `exited` has the exit code, `gone` is done when nothing is left."""

    stdin: int
    stdout: int
    stderr: int
    exited: asyncio.Future[int | None]
    gone: asyncio.Future[None]

    @property
    def pid(self) -> int:
        """The command's process id."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to all of them."""
        ...

    def kill(self) -> None:
        """Kill all of them."""
        ...

    def release(self) -> None:
        """Release the resources; what still runs is ended without us."""
        ...


class Pipes:
    """The pipes of a command: our ends, and until it has started also its ends.

    There are three. A command that `only_writes` has one: `stderr` is `stdout`, and `stdin` is not a descriptor.
    """

    def __init__(self, *, only_writes: bool = False) -> None:
        self._child_ends: list[int] = []
        self._our_ends: list[int] = []
        try:
            self.child_stdin, self.stdin = self._null_device() if only_writes else self._pipe(child_end=0)
            self.stdout, self.child_stdout = self._pipe(child_end=1)
            self.stderr, self.child_stderr = (
                (self.stdout, self.child_stdout) if only_writes else self._pipe(child_end=1)
            )
        except BaseException:
            self.close()
            raise

    def _null_device(self) -> tuple[int, int]:
        # Not a closed pipe: programs such as ripgrep search stdin instead of the directory if it is a pipe.
        null = os.open(os.devnull, os.O_RDONLY)
        self._child_ends.append(null)
        return null, -1

    def _pipe(self, child_end: int) -> tuple[int, int]:
        ends = os.pipe()
        self._child_ends.append(ends[child_end])
        self._our_ends.append(ends[1 - child_end])
        return ends

    def close_child_ends(self) -> None:
        """Close the command's ends in this process, so that the end of one is seen at the other."""
        while self._child_ends:
            os.close(self._child_ends.pop())

    def close(self) -> None:
        """Close whatever is open."""
        self.close_child_ends()
        while self._our_ends:
            os.close(self._our_ends.pop())


def find_program(command: Sequence[str], env: Mapping[str, str], cwd: str) -> str:
    """The path of the command's program; raises `ConnectionClosed` if it is not found or not executable."""
    name = command[0]
    if not os.path.isdir(cwd):  # noqa: PTH112  # an invalid path is not an error here
        raise ConnectionClosed(
            f"can't start {name!r}: working directory not found: {cwd}; create it or use another cwd",
            kind="not_started",
        )
    has_directory = Path(name).name != name
    path = str(Path(cwd, name)) if has_directory else name
    found = shutil.which(path, path=env.get("PATH", os.defpath))
    if found is not None:
        return str(Path(found).absolute())
    if not has_directory:
        is_here = os.path.isfile(str(Path(cwd, name)))  # noqa: PTH113  # as above
        advice = (
            f"the file {name} in {cwd} is started with its interpreter, such as `python {name}`, or as ./{name}"
            if is_here
            else "install it or use its full path"
        )
        raise ConnectionClosed(f"can't start {name!r}: command not found on PATH; {advice}", kind="not_started")
    if not os.path.exists(path):  # noqa: PTH110  # as above
        raise ConnectionClosed(f"can't start {name!r}: no such file; check the path or install it", kind="not_started")
    raise ConnectionClosed(
        f"can't start {name!r}: permission denied: not executable; run chmod +x on it, or start it with its interpreter",
        kind="not_started",
    )


if sys.platform == "win32":
    from accord.transports.windows_job import Job


async def start_unguarded(options: SpawnOptions) -> UnguardedChild:
    """Returns when the command runs."""
    try:
        return UnguardedChild(options)
    except OSError as error:
        raise ConnectionClosed(f"can't start {options.command[0]!r}: {error}", kind="not_started") from error


class UnguardedChild:
    """`gone` is done when the command has exited; `release()` kills what it left running."""

    def __init__(self, options: SpawnOptions) -> None:
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int | None] = self._loop.create_future()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        pipes = Pipes(only_writes=options.only_writes)
        self.stdin, self.stdout, self.stderr = pipes.stdin, pipes.stdout, pipes.stderr
        try:
            self._process = _run(options, pipes)
        except BaseException:
            pipes.close()
            raise
        pipes.close_child_ends()
        if sys.platform == "win32":
            self._job = Job(self._process)
        threading.Thread(target=self._wait, name="accord child", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

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
            self._loop.call_soon_threadsafe(self._exited, code)

    def _exited(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)
        if not self.gone.done():
            self.gone.set_result(None)


def _run(options: SpawnOptions, pipes: Pipes) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW | Job.STARTS_SUSPENDED
    return subprocess.Popen(  # noqa: S603  # the user's command
        list(options.command),
        executable=options.program,
        stdin=pipes.child_stdin,
        stdout=pipes.child_stdout,
        stderr=pipes.child_stderr,
        env=dict(options.env),
        cwd=options.cwd,
        start_new_session=True,
        creationflags=flags,
    )
