"""Runs commands to their end in the client's terminals.

Laws: a terminal that was created is released, whatever happens. After a kill no wait is longer than a few seconds, and an
exit status that the client does not have by then stays unknown (FN-73).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

from accord.agent.command_line import CommandLine, CommandResult, is_inert, plain_words, write_script
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
from accord.transports.output_tail import OutputTail

__all__ = ["ClientTerminals"]

_AFTER_KILL = 2.0
_RELEASE = 10.0


class ClientTerminals:
    """The client's terminals, for one turn."""

    def __init__(self, session_id: str, client: AgentConnection) -> None:
        self._session_id = session_id
        self._client = client

    async def run(self, line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        """Run a command to its end or its deadline."""
        words = line.words if is_inert(line.words) else await in_thread(partial(plain_words, line))
        if words is not None:
            return await self._run(words, line, call)
        script = await in_thread(partial(write_script, line))
        if script is None:
            return await self._run(line.words, line, call)
        try:
            result = await self._run(script.words, line, call)
            if script.has_started or result.is_timed_out:
                return result
        finally:
            script.remove()
        return await self._run(line.words, line, call)

    async def _run(self, words: list[str], line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        request = CreateTerminal(
            session_id=self._session_id,
            command=words[0],
            args=words[1:],
            env=line.env,
            cwd=line.cwd,
            output_byte_limit=line.limit,
        )
        id: str = (await self._client.request(request)).terminal_id
        wait = WaitForExit(session_id=self._session_id, terminal_id=id)
        status = asyncio.ensure_future(self._client.request(wait))
        try:
            if call is not None:
                await call.terminal(id)  # TERM-17
            await asyncio.wait((status,), timeout=line.deadline)
            if status.done():
                return _result(status.result(), await self._read(id), line.limit)
            return _result(*await self._kill(id, status), line.limit, is_timed_out=True)  # TERM-28
        finally:
            status.add_done_callback(_retrieve)
            status.cancel()
            await self._release(id)

    async def _kill(self, id: str, status: asyncio.Future[Exit]) -> tuple[Exit | None, TerminalSnapshot | None]:
        snapshot: TerminalSnapshot | None = None
        with suppress(AccordError):
            kill = KillTerminal(session_id=self._session_id, terminal_id=id)
            await self._client.request(kill, deadline=_AFTER_KILL)
        await asyncio.wait((status,), timeout=_AFTER_KILL)
        with suppress(AccordError):
            snapshot = await self._read(id)
        is_known = status.done() and not status.cancelled() and status.exception() is None
        return status.result() if is_known else None, snapshot

    async def _read(self, id: str) -> TerminalSnapshot:
        return await self._client.request(ReadTerminal(session_id=self._session_id, terminal_id=id), deadline=_RELEASE)

    async def _release(self, id: str) -> None:
        # Shielded, so that a cancelled turn still releases it; bounded, so that it ends.
        request = ReleaseTerminal(session_id=self._session_id, terminal_id=id)
        release = asyncio.ensure_future(self._client.request(request, deadline=_RELEASE))
        release.add_done_callback(_retrieve)
        with suppress(AccordError):
            await asyncio.shield(release)


def _result(
    status: Exit | None, snapshot: TerminalSnapshot | None, limit: int, *, is_timed_out: bool = False
) -> CommandResult:
    """Tolerant: a client may ignore the limit, send the exit in either place, and use a terminal's line breaks."""
    exits = [each for each in (status, None if snapshot is None else snapshot.exit) if each is not None]
    status = next((each for each in exits if each.code is not None or each.signal), Exit())
    tail = OutputTail(limit)
    tail.add(("" if snapshot is None else snapshot.output.replace("\r\n", "\n")).encode())
    return CommandResult(
        output=tail.text,
        code=status.code,
        signal=status.signal or None,
        is_truncated=tail.is_truncated or (snapshot is not None and snapshot.truncated),
        is_timed_out=is_timed_out,
    )


def _retrieve(future: asyncio.Future[Any]) -> None:
    """Mark its exception as retrieved, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()
