"""Starts a command behind a guard process, which ends everything the command started even if we are killed.

We hold one end of a socket, the guard the other; `guard` says what is spoken on it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from errno import ENOENT, ENOEXEC
from pathlib import Path

from accord.errors import ConnectionClosed
from accord.transports.spawn import Pipes, Start
from accord.transports.streams import LoopReader, LoopWriter

__all__ = ["GuardedChild", "can_guard", "start_guarded"]

_GUARD = Path(__file__).with_name("guard_program.py")


def can_guard() -> bool:
    """Whether there is a Python to run the guard with: not on Windows, nor inside a frozen program."""
    return sys.platform != "win32" and bool(sys.executable) and not hasattr(sys, "frozen") and _GUARD.is_file()


async def start_guarded(start: Start) -> GuardedChild:
    """Returns when the command runs; cancelled, it leaves nothing running."""
    try:
        child = GuardedChild(start)
    except OSError as error:
        raise ConnectionClosed(f"can't start {start.command[0]!r}: {error}", kind="not_started") from error
    await child.wait_started()
    return child


class GuardedChild:
    """Its future `gone` is done when the guard has nothing left to guard."""

    def __init__(self, start: Start) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int | None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self._started: asyncio.Future[None] = loop.create_future()
        self._start = start
        self._received = b""
        self._pid = 0
        self._pipes = Pipes(only_writes=start.only_writes)
        self.stdin, self.stdout, self.stderr = self._pipes.stdin, self._pipes.stdout, self._pipes.stderr
        try:
            control, self._guard = self._run_guard()
        except BaseException:
            self._pipes.close()
            raise
        self._pipes.hand_over()
        self._orders = LoopWriter(control.dup(), _ignore)
        self._reports = LoopReader(control, self._reported, self._guard_ended)

    async def wait_started(self) -> None:
        """Returns when the command runs; if that fails or is cancelled, nothing is left."""
        try:
            self._request()
            await self._started
        except BaseException:
            self._pipes.close()
            self.release()
            raise

    def terminate(self) -> None:
        self._orders.write(b"T")

    def kill(self) -> None:
        self._orders.write(b"K")

    def release(self) -> None:
        # The guard takes the end of its socket for our death.
        self._orders.close()
        self._reports.close()
        if self.gone.done():
            self._guard.wait()
        elif self._guard.poll() is None:
            threading.Thread(target=self._guard.wait, name="accord guard", daemon=True).start()

    def _run_guard(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        descriptor = theirs.fileno()
        try:
            guard = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-I", "-S", str(_GUARD), str(descriptor), str(os.getpid())],
                stdin=self._pipes.their_stdin,
                stdout=self._pipes.their_stdout,
                stderr=self._pipes.their_stderr,
                pass_fds=(descriptor,),
                cwd="/",  # where we were started, a library may lie that the user's LD_LIBRARY_PATH leads to
                start_new_session=True,  # a Ctrl-C in our terminal is for us alone
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours, guard

    def _request(self) -> None:
        start = self._start
        variables = [f"{name}={value}" for name, value in start.env.items()]
        numbers = map(str, (start.grace, start.memory, len(start.command)))
        fields = [start.program, str(Path(start.cwd).absolute()), *numbers, *start.command, *variables]
        if any("\0" in field for field in fields):
            raise ConnectionClosed(
                f"can't start {start.command[0]!r}: an argument or variable holds a NUL character", kind="not_started"
            )
        request = b"\0".join(os.fsencode(field) for field in fields)
        self._orders.write(b"%010d" % len(request) + request)

    def _reported(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            word, number = line.split()
            if word == b"exit":
                self.exited.set_result(int(number))
            elif not self._started.done():
                if word == b"started":
                    self._pid = int(number)
                    self._started.set_result(None)
                else:
                    self._started.set_exception(_failure(self._start, int(number)))

    def _guard_ended(self, error: OSError | None) -> None:
        if not self._started.done():
            self._started.set_exception(
                ConnectionClosed(f"can't start {self._start.command[0]!r}: {self._last_words()}", kind="not_started")
            )
        if not self.exited.done():
            if self._pid:
                with suppress(OSError):  # somebody ended the guard itself: the command's own group is all we can reach
                    os.killpg(self._pid, signal.SIGKILL)
            self.exited.set_result(None)
        if not self.gone.done():
            self.gone.set_result(None)

    def _last_words(self) -> str:
        os.set_blocking(self.stderr, False)
        try:
            words = os.read(self.stderr, 64 * 1024)
        except BlockingIOError:
            words = b""
        return "the guard process ended before the command ran\n" + words.decode(errors="replace")


def _failure(start: Start, number: int) -> ConnectionClosed:
    if number == ENOEXEC:
        why = "the system can't run it; a script needs a first line such as #!/bin/sh"
    elif number == ENOENT:
        why = f"it is there, but the interpreter in the first line of {start.program} is not"
    else:
        why = os.strerror(number)
    return ConnectionClosed(f"can't start {start.command[0]!r}: {why}", kind="not_started")


def _ignore(error: OSError | None) -> None: ...
