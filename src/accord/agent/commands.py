"""Commands run to their end: in the client's terminals where it offers them, as processes of ours otherwise.

Law: whatever happens, a terminal that was created is released, and a process that was started is ended.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from accord.agent.connected_client import ConnectedClient
from accord.agent.processes import Running, start
from accord.agent.sessions import Session
from accord.agent.tool_calls import OpenToolCall
from accord.errors import AccordError, DeadlineExceeded
from accord.session.entities import Exit
from accord.session.requests import CreateTerminal, KillTerminal, ReadTerminal, ReleaseTerminal, WaitForExit
from accord.session.updates import TerminalPatch, TerminalPiece

__all__ = ["Commands", "Ran"]

_AFTER_KILL = 5.0  # FN-73
_RELEASE = 10.0


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended and what it wrote; of more than the limit, the end."""

    output: str
    code: int | None = None
    signal: str | None = None
    is_truncated: bool = False
    is_timed_out: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with 0."""
        return self.code == 0 and not self.is_timed_out


class Line(msgspec.Struct, frozen=True):
    """What is to be run, and where; `env` is laid over the environment there is."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    deadline: float | None
    limit: int


class Commands:
    """The commands of one turn."""

    def __init__(self, session: Session, client: ConnectedClient) -> None:
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
        """Run it to its end, or to its deadline."""
        if not command:
            raise TypeError("run() needs a command")
        words = _for_shell(command[0]) if len(command) == 1 else list(command)
        line = Line(words, str(self._session.cwd / Path(cwd or ".")), dict(env or {}), deadline, limit)
        if self._client.capabilities.terminals and self._client.dialect.has_client_resources:  # TERM-02
            return await self._run_there(line, call)
        return await self._run_here(line, call)

    async def _run_there(self, line: Line, call: OpenToolCall | None) -> Ran:
        session_id, ask = self._session.id, self._client.ask
        created = CreateTerminal(
            session_id=session_id,
            command=line.words[0],
            args=line.words[1:],
            env=line.env,
            cwd=line.cwd,
            output_byte_limit=line.limit,
        )
        id: str = (await ask(created)).terminal_id
        try:
            if call is not None:
                await call.terminal(id)  # TERM-17
            ended: Exit | None = None
            is_timed_out = False
            try:
                ended = await ask(WaitForExit(session_id=session_id, terminal_id=id), deadline=line.deadline)
            except DeadlineExceeded:  # TERM-28
                is_timed_out = True
                await ask(KillTerminal(session_id=session_id, terminal_id=id), deadline=_AFTER_KILL)
            seen = await ask(ReadTerminal(session_id=session_id, terminal_id=id), deadline=_RELEASE)
        finally:
            await self._release(id)
        how: Exit = ended or seen.exit or Exit()
        return Ran(
            output=seen.output,
            code=how.code,
            signal=how.signal,
            is_truncated=seen.truncated,
            is_timed_out=is_timed_out,
        )

    async def _release(self, id: str) -> None:
        # Shielded, so that a cancelled turn still releases it; bounded, so that it ends.
        asked = ReleaseTerminal(session_id=self._session.id, terminal_id=id)
        release = asyncio.ensure_future(self._client.ask(asked, deadline=_RELEASE))
        release.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.shield(release)
        except AccordError:
            return

    async def _run_here(self, line: Line, call: OpenToolCall | None) -> Ran:
        id = None if call is None else f"terminal-{os.urandom(6).hex()}"
        if call is not None and id is not None:
            self._session.report(TerminalPatch(id=id, command=shlex.join(line.words), cwd=line.cwd))
            await call.terminal(id)
        try:
            running = await start(line.words, line.cwd, line.env, line.limit)
        except OSError as error:
            if id is not None:
                self._session.report(TerminalPatch(id=id, exit=Exit(code=127)))
            return Ran(output=f"{line.words[0]}: {error.strerror or error}", code=127)
        is_timed_out = False
        try:
            async with asyncio.timeout(line.deadline):
                await self._follow(running, id)
        except TimeoutError:
            is_timed_out = True
        finally:
            ended = await running.end()
            if id is not None:
                self._session.report(TerminalPatch(id=id, exit=ended))
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
                await self._session.tell(TerminalPiece(id=id, data=piece))


def _for_shell(line: str) -> list[str]:
    if not any(letter.isspace() for letter in line):
        return [line]
    return ["cmd.exe", "/d", "/s", "/c", line] if sys.platform == "win32" else ["/bin/sh", "-c", line]
