"""Starts a command behind a guard process, which ends everything that the command started even if we are killed.

This process and the guard are connected by a socket; `guard_program` describes the protocol.
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
from accord.transports.spawn import Pipes, SpawnOptions
from accord.transports.streams import LoopReader, LoopWriter

_GUARD = Path(__file__).with_name("guard_program.py")


def can_guard() -> bool:
    """Whether Python can run the guard: not on Windows, and not in a frozen program."""
    return sys.platform != "win32" and bool(sys.executable) and not hasattr(sys, "frozen") and _GUARD.is_file()


async def start_guarded(options: SpawnOptions) -> GuardedChild:
    """Returns when the command runs; if cancelled, nothing is left running."""
    try:
        child = GuardedChild(options)
    except OSError as error:
        raise ConnectionClosed(f"can't start {options.command[0]!r}: {error}", kind="not_started") from error
    await child.wait_started()
    return child


class GuardedChild:
    """`gone` is done when the guard has exited, so no descendant of the command is left."""

    def __init__(self, options: SpawnOptions) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int | None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self._started: asyncio.Future[None] = loop.create_future()
        self._options = options
        self._received = b""
        self.pid = 0
        self._pipes = Pipes(only_writes=options.only_writes)
        self.stdin, self.stdout, self.stderr = self._pipes.stdin, self._pipes.stdout, self._pipes.stderr
        try:
            control, self._guard = self._run_guard()
        except BaseException:
            self._pipes.close()
            raise
        self._pipes.close_child_ends()
        self._commands = LoopWriter(control.dup(), _ignore)
        self._reports = LoopReader(control, self._report_received, self._guard_ended)

    async def wait_started(self) -> None:
        """Returns when the command runs; if that fails or is cancelled, everything is released."""
        try:
            self._send_request()
            await self._started
        except BaseException:
            self._pipes.close()
            self.release()
            raise

    def terminate(self) -> None:
        self._commands.write(b"T")

    def kill(self) -> None:
        self._commands.write(b"K")

    def release(self) -> None:
        # For the guard, the end of the socket means that we are dead.
        self._commands.close()
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
                stdin=self._pipes.child_stdin,
                stdout=self._pipes.child_stdout,
                stderr=self._pipes.child_stderr,
                pass_fds=(descriptor,),
                cwd="/",  # LD_LIBRARY_PATH may lead to a library in our own directory
                start_new_session=True,  # a Ctrl+C in our terminal is only for us
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours, guard

    def _send_request(self) -> None:
        options = self._options
        variables = [f"{name}={value}" for name, value in options.env.items()]
        numbers = map(str, (options.grace, options.memory, len(options.command)))
        fields = [options.program, str(Path(options.cwd).absolute()), *numbers, *options.command, *variables]
        if any("\0" in field for field in fields):
            raise ConnectionClosed(
                f"can't start {options.command[0]!r}: an argument or environment variable contains a NUL character",
                kind="not_started",
            )
        request = b"\0".join(os.fsencode(field) for field in fields)
        self._commands.write(b"%010d" % len(request) + request)

    def _report_received(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            word, number = line.split()
            if word == b"exit":
                self.exited.set_result(int(number))
            elif not self._started.done():
                if word == b"started":
                    self.pid = int(number)
                    self._started.set_result(None)
                else:
                    self._started.set_exception(_start_error(self._options, int(number)))

    def _guard_ended(self, error: OSError | None) -> None:
        if not self._started.done():
            self._started.set_exception(
                ConnectionClosed(
                    f"can't start {self._options.command[0]!r}: {self._guard_output()}", kind="not_started"
                )
            )
        if not self.exited.done():
            if self.pid:
                with suppress(OSError):  # the guard was killed: only the command's process group can be reached
                    os.killpg(self.pid, signal.SIGKILL)
            self.exited.set_result(None)
        if not self.gone.done():
            self.gone.set_result(None)

    def _guard_output(self) -> str:
        os.set_blocking(self.stderr, False)
        try:
            output = os.read(self.stderr, 64 * 1024)
        except BlockingIOError:
            output = b""
        return "the guard process exited before the command ran\n" + output.decode(errors="replace")


def _start_error(options: SpawnOptions, number: int) -> ConnectionClosed:
    if number == ENOEXEC:
        reason = "exec format error; a script needs a first line such as #!/bin/sh"
    elif number == ENOENT:
        reason = f"interpreter not found; check the first line of {options.program}"
    else:
        reason = os.strerror(number)
    return ConnectionClosed(f"can't start {options.command[0]!r}: {reason}", kind="not_started")


def _ignore(error: OSError | None) -> None: ...
