"""Starts a command without a guard: on Windows, where a job object does its work, and inside frozen programs.

On Windows (not tested there) everything in the job ends when our handle of it closes, so also when we are killed.
Inside a frozen program on other systems the command's session is ended with it, but not if we ourselves are killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

from accord.errors import ConnectionClosed
from accord.transports.child import Pipes, Start

if sys.platform == "win32":
    from accord.transports.job import Job

__all__ = ["UnguardedChild", "start_unguarded"]


async def start_unguarded(start: Start) -> UnguardedChild:
    """Returns when the command runs."""
    try:
        return UnguardedChild(start)
    except OSError as error:
        raise ConnectionClosed(f"can't start {start.command[0]!r}: {error}") from error


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
