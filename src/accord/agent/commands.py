"""Commands run to their end: in the client's terminals where it offers them, as processes of ours otherwise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from accord.agent.client_terminals import ClientTerminals
from accord.agent.connection import AgentConnection
from accord.agent.processes import Running, start
from accord.agent.ran import Line, Ran, words_of
from accord.agent.session import AgentSession
from accord.agent.tool_calls import OpenToolCall
from accord.errors import ConnectionClosed
from accord.session.entities import Exit
from accord.session.requests import CreateTerminal
from accord.session.updates import TerminalPatch, TerminalPiece

__all__ = ["Commands"]


class Commands:
    """The commands of one turn."""

    def __init__(self, session: AgentSession, client: AgentConnection) -> None:
        self._session = session
        self._client = client

    async def run(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        *,
        deadline: float | None,
        limit: int,
        call: OpenToolCall | None,
    ) -> Ran:
        """Run it to its end, or to its deadline; it is over then, with everything it started."""
        where = str(self._session.cwd / Path(cwd or "."))
        line = Line(words_of(command), where, dict(env or {}), deadline, limit)
        program, *args = line.words
        terminal = CreateTerminal(
            session_id=self._session.id, command=program, args=args, env=line.env, output_byte_limit=limit
        )
        self._session.validator.request(terminal)
        if self._client.has_terminals:  # TERM-02
            return await ClientTerminals(self._session.id, self._client).run(line, call)
        return await self._run_here(line, call)

    async def _run_here(self, line: Line, call: OpenToolCall | None) -> Ran:
        id = None if call is None else f"terminal-{os.urandom(6).hex()}"
        if call is not None and id is not None:
            self._session.send_nowait(TerminalPatch(id=id, command=line.shown, cwd=line.cwd))
            await call.terminal(id)
        try:
            running = await start(line.words, line.cwd, {**os.environ, **line.env}, line.limit)
        except ConnectionClosed as error:
            self._tell(id, error.reason.encode(), Exit(code=127))
            return Ran(output=error.reason, code=127)
        is_timed_out = False
        try:
            async with asyncio.timeout(line.deadline):
                await self._follow(running, id)
        except TimeoutError:
            is_timed_out = True
        finally:
            ended = await running.end()
            self._tell(id, running.taken(), ended)
        return Ran(
            output=running.output,
            code=ended.code,
            signal=ended.signal,
            is_truncated=running.is_truncated,
            is_timed_out=is_timed_out,
        )

    async def _follow(self, running: Running, id: str | None) -> None:
        async for piece in running:
            if id is not None:
                await self._session.send(TerminalPiece(id=id, data=piece))

    def _tell(self, id: str | None, last: bytes, ended: Exit) -> None:
        if id is not None:
            if last:
                self._session.send_nowait(TerminalPiece(id=id, data=last))
            self._session.send_nowait(TerminalPatch(id=id, exit=ended))
