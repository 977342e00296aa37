"""Commands run to their end in the client's terminals.

Laws: a terminal that was created is released, whatever happens. After a kill no wait is longer than a few seconds, and
what the client then does not know stays unknown (FN-73).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

from accord.agent.command_line import CommandLine, CommandResult, is_inert, plain_words, written
from accord.agent.connection import AgentConnection
from accord.agent.tool_calls import AgentToolCall
from accord.errors import AccordError
from accord.local.threads import in_thread
from accord.session.entities import Exit
from accord.session.requests import (
    CreateTerminal,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    TerminalSnapshot,
    WaitForExit,
)
from accord.transports.output_tail import Tail

__all__ = ["ClientTerminals"]

_AFTER_KILL = 2.0
_RELEASE = 10.0


class ClientTerminals:
    """The terminals that one turn uses."""

    def __init__(self, session_id: str, client: AgentConnection) -> None:
        self._session_id = session_id
        self._client = client

    async def run(self, line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        """Run it to its end, or to its deadline."""
        words = line.words if is_inert(line.words) else await in_thread(partial(plain_words, line))
        if words is not None:
            return await self._run(words, line, call)
        script = await in_thread(partial(written, line))
        if script is None:
            return await self._run(line.words, line, call)
        try:
            ran = await self._run(script.words, line, call)
            if script.was_begun or ran.is_timed_out:
                return ran
        finally:
            script.remove()
        return await self._run(line.words, line, call)

    async def _run(self, words: list[str], line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        created = CreateTerminal(
            session_id=self._session_id,
            command=words[0],
            args=words[1:],
            env=line.env,
            cwd=line.cwd,
            output_byte_limit=line.limit,
        )
        id: str = (await self._client.ask(created)).terminal_id
        waiting = asyncio.ensure_future(self._client.ask(WaitForExit(session_id=self._session_id, terminal_id=id)))
        try:
            if call is not None:
                await call.terminal(id)  # TERM-17
            await asyncio.wait((waiting,), timeout=line.deadline)
            if waiting.done():
                return _ran(waiting.result(), await self._read(id), line.limit)
            ended, seen = await self._killed(id, waiting)  # TERM-28
            return _ran(ended, seen, line.limit, is_timed_out=True)
        finally:
            waiting.add_done_callback(_seen)
            waiting.cancel()
            await self._release(id)

    async def _killed(self, id: str, waiting: asyncio.Future[Exit]) -> tuple[Exit | None, TerminalSnapshot | None]:
        seen: TerminalSnapshot | None = None
        with suppress(AccordError):
            kill = KillTerminal(session_id=self._session_id, terminal_id=id)
            await self._client.ask(kill, deadline=_AFTER_KILL)
        await asyncio.wait((waiting,), timeout=_AFTER_KILL)
        with suppress(AccordError):
            seen = await self._read(id)
        known = waiting.done() and not waiting.cancelled() and waiting.exception() is None
        return waiting.result() if known else None, seen

    async def _read(self, id: str) -> TerminalSnapshot:
        return await self._client.ask(ReadTerminal(session_id=self._session_id, terminal_id=id), deadline=_RELEASE)

    async def _release(self, id: str) -> None:
        # Shielded, so that a cancelled turn still releases it; bounded, so that it ends.
        asked = ReleaseTerminal(session_id=self._session_id, terminal_id=id)
        release = asyncio.ensure_future(self._client.ask(asked, deadline=_RELEASE))
        release.add_done_callback(_seen)
        with suppress(AccordError):
            await asyncio.shield(release)


def _ran(ended: Exit | None, seen: TerminalSnapshot | None, limit: int, *, is_timed_out: bool = False) -> CommandResult:
    """Tolerant: the client may not keep the limit, may tell the exit in either place, and may write as a terminal does."""
    said = [end for end in (ended, None if seen is None else seen.exit) if end is not None]
    how = next((end for end in said if end.code is not None or end.signal), Exit())
    tail = Tail(limit)
    tail.add(("" if seen is None else seen.output.replace("\r\n", "\n")).encode())
    return CommandResult(
        output=tail.text,
        code=how.code,
        signal=how.signal or None,
        is_truncated=tail.is_truncated or (seen is not None and seen.truncated),
        is_timed_out=is_timed_out,
    )


def _seen(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()
