"""The transport to a command that it starts, and ends together with everything that the command started."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from accord.errors import ConnectionClosed
from accord.errors.local_errors import CloseKind
from accord.transports.framing import FRAME_LIMIT, Framing
from accord.transports.guarded_spawn import can_guard, start_guarded
from accord.transports.output_tail import OutputTail
from accord.transports.spawn import ChildProcess, SpawnOptions, find_program, start_unguarded
from accord.transports.stdio import private_reader, private_writer
from accord.transports.stream_pair import StreamPair
from accord.transports.streams import ByteReader
from accord.transports.transport import HIGH_WATER, Receiver

log = logging.getLogger("accord.transports")

# From the first sign of the end (output closed, input closed, exit) to the last, so that the reason is complete.
_REASON_SECONDS = 1.0
_KILLED_SECONDS = 5.0


class ProcessTransport(StreamPair):
    """`env` is the complete environment, None for our own. The command's stderr is always read, and its tail kept.

    Closing closes the command's stdin, terminates everything that it started after `close_grace` seconds, and kills
    the rest after `terminate_grace` more. If this process dies, the same happens without the first step.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        framing: Framing | None = None,
        frame_limit: int = FRAME_LIMIT,
        high_water: int = HIGH_WATER,
        on_stderr: Callable[[bytes], None] | None = None,
        stderr_limit: int = 64 * 1024,
        close_grace: float = 2.0,
        terminate_grace: float = 2.0,
    ) -> None:
        super().__init__(framing=framing, frame_limit=frame_limit, high_water=high_water)
        if isinstance(command, str) or not command:
            raise TypeError("the command must be a list of program and arguments; use shlex.split() for a string")
        self._command = [str(part) for part in command]
        self._env = env
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._close_grace = close_grace
        self._terminate_grace = terminate_grace
        self._child: ChildProcess | None = None
        self._stderr: ByteReader | None = None
        self._stderr_tail = OutputTail(stderr_limit)
        self._stdout_ended: asyncio.Future[None] | None = None
        self._stderr_ended: asyncio.Future[None] | None = None
        self._end_task: asyncio.Task[None] | None = None
        self._stdin_broken: asyncio.Future[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Start the command; raises `ConnectionClosed` with the reason if it cannot be started."""
        options = self._spawn_options()
        if self._close_task is not None:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        child = await (start_guarded(options) if can_guard() else start_unguarded(options))
        if self._close_task is not None:
            for descriptor in (child.stdin, child.stdout, child.stderr):
                os.close(descriptor)
            child.release()
            raise ConnectionClosed("closed while it was being opened", kind="not_open")
        loop = asyncio.get_running_loop()
        self._child = child
        self._stdout_ended, self._stderr_ended = loop.create_future(), loop.create_future()
        self._stdin_broken = loop.create_future()
        self._attach(receiver, private_writer(child.stdin, self._stdin_broke))
        self._reader = private_reader(child.stdout, self._bytes_received, self._stdout_closed)
        self._stderr = private_reader(child.stderr, self._stderr_received, self._stderr_closed)
        child.exited.add_done_callback(self._exited)

    def _spawn_options(self) -> SpawnOptions:
        env = dict(os.environ if self._env is None else self._env)
        cwd = str(Path(self._cwd or ".").absolute())
        return SpawnOptions(find_program(self._command, env, cwd), self._command, env, cwd, self._terminate_grace)

    @property
    def pid(self) -> int | None:
        """The command's process id; None before it has started."""
        return None if self._child is None else self._child.pid

    @property
    def stderr_tail(self) -> str:
        """The end of what the command has written to stderr so far."""
        return self._stderr_tail.text

    def _stderr_received(self, data: bytes) -> None:
        self._stderr_tail.add(data)
        if self._on_stderr is not None:
            try:
                self._on_stderr(data)
            except Exception:
                log.exception("the stderr callback failed and will not be called again")  # else once for every line
                self._on_stderr = None

    def _stderr_closed(self, error: OSError | None) -> None:
        assert self._stderr_ended is not None
        self._stderr_tail.finish()
        self._stderr_ended.set_result(None)

    def _stdout_closed(self, error: OSError | None) -> None:
        assert self._stdout_ended is not None
        self._stdout_ended.set_result(None)
        self._start_end_task()

    def _stdin_broke(self, error: OSError | None) -> None:
        assert self._stdin_broken is not None
        self._stdin_broken.set_result(None)
        self._start_end_task()

    def _exited(self, exited: asyncio.Future[int | None]) -> None:
        self._start_end_task()

    def _start_end_task(self) -> None:
        if self._end_task is None and self._close_task is None:
            self._end_task = asyncio.create_task(self._wait_for_reason(), name="accord process ending")

    async def _wait_for_reason(self) -> None:
        child, stdin, stdout, stderr = self._child, self._stdin_broken, self._stdout_ended, self._stderr_ended
        assert child is not None
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        await asyncio.wait((stdout, stderr, child.exited), timeout=_REASON_SECONDS)
        if child.exited.done() and not stdout.done():
            # A process that it started holds its output open, or we have paused; without writers the end must come.
            child.kill()
            await self._wait_for_end_of(stdout)
        if not child.exited.done() and not stdin.done():
            self._end_input(self._reason())  # it may still read responses
            await asyncio.wait((child.exited, stdin), return_when=asyncio.FIRST_COMPLETED)
        self._lose(self._reason())

    async def _wait_for_end_of(self, stdout: asyncio.Future[None]) -> None:
        assert self._frame_reader is not None
        while not stdout.done():
            before = self._frame_reader.count
            await asyncio.wait((stdout,), timeout=_REASON_SECONDS)
            if self._frame_reader.count == before and not self._frame_reader.is_paused:
                return

    def _reason(self, reason: str = "", kind: CloseKind = "peer_closed") -> ConnectionClosed:
        code = None
        name = self._command[0]
        if self._child is not None and self._child.exited.done():
            code = self._child.exited.result()
            reason = reason or f"{name!r} ended"
        elif self._stdin_broken is not None and self._stdin_broken.done():
            reason = reason or f"{name!r} closed its input"
        return ConnectionClosed(
            reason or f"{name!r} closed its output",
            code,
            self._stderr_tail.text,
            kind=kind,
        )

    async def _close(self) -> None:
        try:
            if self._child is not None and self._frame_reader is not None and self._frame_writer is not None:
                if self._end_task is not None:
                    self._end_task.cancel()
                self._frame_reader.discard()
                self.resume_receiving()  # so that the command does not hang in a write
                self._frame_writer.close()
                await self._end(self._child)
        finally:
            self._release()

    async def _end(self, child: ChildProcess) -> None:
        assert self._writer is not None
        self._writer.finish()
        await asyncio.wait((child.exited,), timeout=self._close_grace)
        if not child.gone.done():
            child.terminate()
            await asyncio.wait((child.gone,), timeout=self._terminate_grace)
        if not child.gone.done():
            child.kill()
            await asyncio.wait((child.gone,), timeout=_KILLED_SECONDS)

    def _release(self) -> None:
        for stream in (self._writer, self._reader, self._stderr):
            if stream is not None:
                stream.close()
        if self._child is not None:
            self._child.release()
        if self._frame_reader is not None:
            self._frame_reader.close(self._reason("closed by this side", "closed_here"))
