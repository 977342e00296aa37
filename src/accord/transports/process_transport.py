"""Speak frames with a command that we start, watch, and end together with everything it started."""

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
from accord.transports.spawn import Child, Start, located, start_unguarded
from accord.transports.stdio import private_reader, private_writer
from accord.transports.stream_pair import Duplex
from accord.transports.streams import Reader
from accord.transports.transport import HIGH_WATER, Receiver

__all__ = ["Process"]

log = logging.getLogger("accord.transports")

# From the first sign of the end (output closed, input closed, exit) to the last, so that one can explain the other.
_EXPLANATION_SECONDS = 1.0
_KILLED_SECONDS = 5.0


class Process(Duplex):
    """`env` is the whole environment, None our own. Whatever the command writes to stderr is read, its tail kept.

    Closing closes the command's input, and after `close_grace` seconds asks everything it started to end, and after
    `terminate_grace` more ends it. The same happens, without the first step, when this process dies.
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
        stderr_kept: int = 64 * 1024,
        close_grace: float = 2.0,
        terminate_grace: float = 2.0,
    ) -> None:
        super().__init__(framing=framing, frame_limit=frame_limit, high_water=high_water)
        if isinstance(command, str) or not command:
            raise TypeError("a command is a list: the program, then each argument; shlex.split() makes one of a string")
        self._command = [str(part) for part in command]
        self._env = env
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._stderr_kept = stderr_kept
        self._close_grace = close_grace
        self._terminate_grace = terminate_grace
        self._child: Child | None = None
        self._stderr: Reader | None = None
        self._stderr_tail = bytearray()
        self._stdout_ended: asyncio.Future[None] | None = None
        self._stderr_ended: asyncio.Future[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._stdin_broken: asyncio.Future[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Start the command; raises `ConnectionClosed` that says what to do when it can't be started."""
        start = self._plan()
        if self._closing is not None:
            raise ConnectionClosed("it was closed before it was opened", kind="not_open")
        child = await (start_guarded(start) if can_guard() else start_unguarded(start))
        if self._closing is not None:
            for descriptor in (child.stdin, child.stdout, child.stderr):
                os.close(descriptor)
            child.release()
            raise ConnectionClosed("it was closed while it was opened", kind="not_open")
        loop = asyncio.get_running_loop()
        self._child = child
        self._stdout_ended, self._stderr_ended = loop.create_future(), loop.create_future()
        self._stdin_broken = loop.create_future()
        self._attach(receiver, private_writer(child.stdin, self._stdin_broke))
        self._reader = private_reader(child.stdout, self._arrived, self._stdout_closed)
        self._stderr = private_reader(child.stderr, self._stderr_arrived, self._stderr_closed)
        child.exited.add_done_callback(self._exited)

    def _plan(self) -> Start:
        env = dict(os.environ if self._env is None else self._env)
        cwd = str(Path(self._cwd or ".").absolute())
        return Start(located(self._command, env, cwd), self._command, env, cwd, self._terminate_grace)

    def _stderr_arrived(self, data: bytes) -> None:
        tail = self._stderr_tail
        tail += data[-self._stderr_kept :]
        if len(tail) > self._stderr_kept:
            del tail[: -self._stderr_kept]
        if self._on_stderr is not None:
            try:
                self._on_stderr(data)
            except Exception:
                log.exception("what is told of stderr failed, and is told nothing more")  # else once for every line
                self._on_stderr = None

    def _stderr_closed(self, error: OSError | None) -> None:
        assert self._stderr_ended is not None
        self._stderr_ended.set_result(None)

    def _stdout_closed(self, error: OSError | None) -> None:
        assert self._stdout_ended is not None
        self._stdout_ended.set_result(None)
        self._begin_to_end()

    def _stdin_broke(self, error: OSError | None) -> None:
        assert self._stdin_broken is not None
        self._stdin_broken.set_result(None)
        self._begin_to_end()

    def _exited(self, exited: asyncio.Future[int | None]) -> None:
        self._begin_to_end()

    def _begin_to_end(self) -> None:
        if self._ending is None and self._closing is None:
            self._ending = asyncio.create_task(self._explain_the_end(), name="accord process ending")

    async def _explain_the_end(self) -> None:
        child, stdin, stdout, stderr = self._child, self._stdin_broken, self._stdout_ended, self._stderr_ended
        assert child is not None
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        await asyncio.wait((stdout, stderr, child.exited), timeout=_EXPLANATION_SECONDS)
        if child.exited.done() and not stdout.done():
            # Something that it started holds its output open, or we have paused; without writers the end must come.
            child.kill()
            await self._wait_for_end_of(stdout)
        if not child.exited.done() and not stdin.done():
            self._silent(self._reason())  # it may still read what it is answered
            await asyncio.wait((child.exited, stdin), return_when=asyncio.FIRST_COMPLETED)
        self._lost(self._reason())

    async def _wait_for_end_of(self, stdout: asyncio.Future[None]) -> None:
        assert self._arrivals is not None
        while not stdout.done():
            before = self._arrivals.count
            await asyncio.wait((stdout,), timeout=_EXPLANATION_SECONDS)
            if self._arrivals.count == before and not self._arrivals.is_paused:
                return

    def _reason(self, why: str = "", kind: CloseKind = "peer_closed") -> ConnectionClosed:
        code = None
        name = self._command[0]
        if self._child is not None and self._child.exited.done():
            code = self._child.exited.result()
            why = why or f"{name!r} ended"
        elif self._stdin_broken is not None and self._stdin_broken.done():
            why = why or f"{name!r} closed its input"
        return ConnectionClosed(
            why or f"{name!r} closed its output",
            code,
            self._stderr_tail.decode("utf-8", errors="replace"),
            kind=kind,
        )

    async def _close(self) -> None:
        try:
            if self._child is not None and self._arrivals is not None and self._departures is not None:
                if self._ending is not None:
                    self._ending.cancel()
                self._arrivals.discard()
                self.resume_receiving()  # so that the command doesn't hang in a write while it should end
                self._departures.close()
                await self._end(self._child)
        finally:
            self._release()

    async def _end(self, child: Child) -> None:
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
        if self._arrivals is not None:
            self._arrivals.close(self._reason("closed by this side", "closed_here"))
