"""Runs commands to their end: in the client's terminals where it offers them, otherwise as child processes.

Also when this process is killed: a guard stands in front of every command. Who follows too slowly slows the command.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from accord.agent.client_terminals import ClientTerminals
from accord.agent.command_line import CommandLine, CommandResult, words_of
from accord.agent.connection import AgentConnection
from accord.agent.session import AgentSession
from accord.agent.tool_calls import AgentToolCall
from accord.errors import ConnectionClosed
from accord.local.processes import exit_status
from accord.session.entities import Exit
from accord.session.requests import CreateTerminal
from accord.session.updates import TerminalAppend, TerminalPatch
from accord.transports.command_output import Capture, start_capture
from accord.transports.output_tail import Tail

__all__ = ["CommandProcess", "CommandRunner", "start"]


class CommandRunner:
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
        call: AgentToolCall | None,
    ) -> CommandResult:
        """Run it to its end, or to its deadline; it is over then, with everything it started."""
        where = str(self._session.cwd / Path(cwd or "."))
        line = CommandLine(words_of(command), where, dict(env or {}), deadline, limit)
        program, *args = line.words
        terminal = CreateTerminal(
            session_id=self._session.id, command=program, args=args, env=line.env, output_byte_limit=limit
        )
        self._session.validator.request(terminal)
        if self._client.has_terminals:  # TERM-02
            return await ClientTerminals(self._session.id, self._client).run(line, call)
        return await self._run_here(line, call)

    async def _run_here(self, line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        id = None if call is None else f"terminal-{os.urandom(6).hex()}"
        if call is not None and id is not None:
            self._session.send_nowait(TerminalPatch(id=id, command=line.shown, cwd=line.cwd))
            await call.terminal(id)
        try:
            running = await start(line.words, line.cwd, {**os.environ, **line.env}, line.limit)
        except ConnectionClosed as error:
            self._tell(id, error.reason.encode(), Exit(code=127))
            return CommandResult(output=error.reason, code=127)
        is_timed_out = False
        try:
            async with asyncio.timeout(line.deadline):
                await self._follow(running, id)
        except TimeoutError:
            is_timed_out = True
        finally:
            ended = await running.end()
            self._tell(id, running.taken(), ended)
        return CommandResult(
            output=running.output,
            code=ended.code,
            signal=ended.signal,
            is_truncated=running.is_truncated,
            is_timed_out=is_timed_out,
        )

    async def _follow(self, running: CommandProcess, id: str | None) -> None:
        async for piece in running:
            if id is not None:
                await self._session.send(TerminalAppend(id=id, data=piece))

    def _tell(self, id: str | None, last: bytes, ended: Exit) -> None:
        if id is not None:
            if last:
                self._session.send_nowait(TerminalAppend(id=id, data=last))
            self._session.send_nowait(TerminalPatch(id=id, exit=ended))


_WAITING = 256 * 1024  # bytes that nobody has taken yet
_GRACE = 1.0  # below that of a cancelled turn, which should see the end


async def start(
    words: Sequence[str], cwd: str, env: Mapping[str, str], limit: int, *, memory: int = 0
) -> CommandProcess:
    """Start it; `env` is the whole environment. `ConnectionClosed` says what to do when it can't be started."""
    running = CommandProcess(limit)
    running.capture = await start_capture(
        words, env=env, cwd=cwd, on_output=running.heard, terminate_grace=_GRACE, memory=memory
    )
    running.capture.ended.add_done_callback(running.wake)
    return running


class CommandProcess:
    """Iterate over it for what the command writes; of all that, the last `limit` bytes are kept."""

    capture: Capture

    def __init__(self, limit: int) -> None:
        self._tail = Tail(limit)
        self._pieces: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()

    @property
    def output(self) -> str:
        """What was kept."""
        return self._tail.text

    @property
    def is_truncated(self) -> bool:
        """Whether the beginning of the output is gone."""
        return self._tail.is_truncated

    def heard(self, piece: bytes) -> None:
        """The command has written something."""
        self._tail.add(piece)
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _WAITING:
            self.capture.pause()
        self._news.set()

    def wake(self, ended: object) -> None:
        """It has ended."""
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self.capture.ended.done() or self._pieces:
            await self._news.wait()
            self._news.clear()
            if self._pieces:
                yield self.taken()

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self.capture.resume()
        return piece

    async def end(self) -> Exit:
        """End whatever of it still runs, in bounded time; how the command ended."""
        await self.capture.end()
        self._tail.finish()
        return exit_status(await self.capture.ended)
