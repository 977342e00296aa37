"""All commands that agents run here: their ids, how many there may be, and how much of their output is kept."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from accord.client.programs import environment, shown, to_run, usual_shell
from accord.client.terminal import OnTerminal, Terminal, TerminalEvent
from accord.errors import ConnectionClosed, Denied, InvalidParams, NotFound, RequestCancelled, RequestFailed
from accord.local.roots import Roots
from accord.local.written_paths import kind_of
from accord.peer.limited_log import LimitedLog
from accord.session.entities import Exit
from accord.session.requests import (
    CreateTerminal,
    Done,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    TerminalCreated,
    TerminalSnapshot,
    WaitForExit,
)
from accord.transports.capture import start_capture

__all__ = ["Terminals"]

log = logging.getLogger("accord.client")

# Of commands that have ended; what still runs is bounded by its own limit and by how many may run.
_KEPT_BYTES = 64 * 1024 * 1024
_KEPT_RELEASED = 1000


class Terminals:
    """Each belongs to one session: to all others its id means nothing."""

    def __init__(
        self,
        *,
        on_terminal: OnTerminal | None,
        output_limit: int,
        running_limit: int,
        shell: Sequence[str] | None,
        env: Mapping[str, str] | None,
        kill_grace: float,
    ) -> None:
        self._on_terminal = on_terminal
        self._output_limit = output_limit
        self._running_limit = running_limit
        self._shell = shell
        self._env = env
        self._kill_grace = kill_grace
        self._known: dict[str, Terminal] = {}
        self._starting: dict[asyncio.Task[Terminal], str] = {}
        self._limited = LimitedLog()
        self._is_closed = False

    @property
    def known(self) -> Mapping[str, Terminal]:
        """By id, the oldest first: all that are not released, and the last thousand that are."""
        return MappingProxyType(self._known)

    async def create(self, roots: Roots, asked: CreateTerminal) -> TerminalCreated:
        """Returns as soon as the command runs. TERM-12"""
        if self._is_closed:
            raise RequestCancelled("The client is closing")
        running = sum(not terminal.is_gone for terminal in self._known.values()) + len(self._starting)
        if running >= self._running_limit:
            raise RequestFailed(
                -32029,
                f"{running} commands are running; end or release one before starting another",
                {"reason": "rate_limited"},
            )
        start = asyncio.create_task(self._start(roots, asked), name="accord terminal")
        self._starting[start] = asked.session_id
        try:
            terminal = await start
        finally:
            del self._starting[start]
        return TerminalCreated(terminal_id=terminal.id)

    async def directory(self, roots: Roots, asked: CreateTerminal) -> str:
        """Where the command would start."""
        return await asyncio.to_thread(_directory, roots, asked.cwd)

    async def read(self, asked: ReadTerminal) -> TerminalSnapshot:
        """What there is now, without waiting. TERM-19"""
        terminal = self._find(asked)
        return TerminalSnapshot(output=terminal.output, truncated=terminal.is_truncated, exit=terminal.exit)

    async def wait(self, asked: WaitForExit) -> Exit:
        """Also answered when the command is killed or the terminal released meanwhile. TERM-25, AMB-66"""
        return await self._find(asked).wait()

    async def kill(self, asked: KillTerminal) -> Done:
        """Returns when the command has ended. TERM-27"""
        await self._find(asked).kill()
        return Done()

    async def release(self, asked: ReleaseTerminal) -> Done:
        """From now on the id is unknown. TERM-30"""
        await self._find(asked).release()
        return Done()

    async def end_session(self, session_id: str) -> None:
        """Release what the session has left."""
        await self._end(session_id)

    async def aclose(self) -> None:
        """Release all; nothing can be started afterwards. Safe to call twice, and from any task."""
        self._is_closed = True
        await self._end(None)

    async def _start(self, roots: Roots, asked: CreateTerminal) -> Terminal:
        env = environment(asked, os.environ if self._env is None else self._env)
        cwd, command = await asyncio.to_thread(self._plan, roots, asked, env)
        limit = self._output_limit
        if asked.output_byte_limit is not None:
            limit = min(limit, asked.output_byte_limit)
        terminal = Terminal(asked.session_id, shown(asked), cwd, limit, self._tell)
        try:
            capture = await start_capture(
                command, env=env, cwd=cwd, on_output=terminal.heard, terminate_grace=self._kill_grace
            )
        except (ConnectionClosed, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, ConnectionClosed) else "the system can't run it"
            raise InvalidParams(reason, field="command") from error
        self._known[terminal.id] = terminal
        terminal.began(capture)
        return terminal

    def _plan(self, roots: Roots, asked: CreateTerminal, env: Mapping[str, str]) -> tuple[str, list[str]]:
        cwd = _directory(roots, asked.cwd)
        return cwd, to_run(asked, env, cwd, self._shell or usual_shell())

    def _find(self, asked: ReadTerminal | WaitForExit | KillTerminal | ReleaseTerminal) -> Terminal:
        terminal = self._known.get(asked.terminal_id)
        if terminal is None or terminal.is_released or terminal.session_id != asked.session_id:
            raise NotFound(terminal_id=asked.terminal_id)  # AMB-34
        return terminal

    async def _end(self, session_id: str | None) -> None:
        starting = [start for start, owner in self._starting.items() if session_id in (None, owner)]
        for start in starting:
            start.cancel()
        if starting:
            await asyncio.wait(starting)
        theirs = [terminal for terminal in self._known.values() if session_id in (None, terminal.session_id)]
        await asyncio.gather(*(terminal.release() for terminal in theirs))

    def _tell(self, event: TerminalEvent) -> None:
        if event.kind in ("exited", "released"):
            self._forget()
        if self._on_terminal is not None:
            try:
                self._on_terminal(event)
            except Exception as error:  # noqa: BLE001  # it only looks on
                self._limited.failure(log, error, "on_terminal failed at %s of %s", event.kind, event.terminal.id)

    def _forget(self) -> None:
        """Old output makes room for new: first of what is released, then of what has ended."""
        released = [terminal for terminal in self._known.values() if terminal.is_released]
        for terminal in released[:-_KEPT_RELEASED]:
            del self._known[terminal.id]
        released = released[-_KEPT_RELEASED:]
        ended = [
            terminal for terminal in self._known.values() if terminal.exit is not None and not terminal.is_released
        ]
        kept = sum(terminal.size for terminal in (*released, *ended))
        for terminal in (*released, *ended):
            if kept <= _KEPT_BYTES:
                break
            kept -= terminal.size
            terminal.drop_output()


def _directory(roots: Roots, cwd: str | None) -> str:
    if cwd is not None:
        real = roots.place(cwd, "terminal.cwd", "cwd").real
    elif roots.directories:
        real = roots.directories[0]
    else:
        raise Denied("terminal.cwd: the session has no directory")
    if kind_of(real) != "directory":
        raise InvalidParams("there is no such directory", field="cwd")
    return str(real)
