"""Runs commands to their end: in the client's terminals where it has them, otherwise as child processes.

Law: a command and everything it started has ended when its run returns, is cancelled, or this process is killed. A slow
client slows the command down.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from accord.agent.client_terminals import ClientTerminals
from accord.agent.command_line import CommandLine, CommandResult, split_command
from accord.agent.connection import AgentConnection
from accord.agent.publisher import Publisher
from accord.agent.tool_calls import AgentToolCall
from accord.errors import ConnectionClosed
from accord.local.processes import exit_status
from accord.session.entities import Exit
from accord.session.requests import CreateTerminal
from accord.session.updates import TerminalAppend, TerminalPatch
from accord.transports.command_output import CapturedCommand, capture_command
from accord.transports.output_tail import OutputTail

__all__ = ["CommandProcess", "CommandRunner", "start"]


class CommandRunner:
    """Runs the commands of one turn."""

    def __init__(self, publisher: Publisher, client: AgentConnection) -> None:
        self._publisher = publisher
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
        """Run a command to its end or its deadline."""
        where = str(self._publisher.cwd / Path(cwd or "."))
        line = CommandLine(split_command(command), where, dict(env or {}), deadline, limit)
        program, *args = line.words
        session_id = self._publisher.session_id
        request = CreateTerminal(
            session_id=session_id, command=program, args=args, env=line.env, output_byte_limit=limit
        )
        self._publisher.validator.request(request)
        if self._client.capabilities.terminals:  # TERM-02
            return await ClientTerminals(session_id, self._client).run(line, call)
        return await self._run_locally(line, call)

    async def _run_locally(self, line: CommandLine, call: AgentToolCall | None) -> CommandResult:
        id = None if call is None else f"terminal-{os.urandom(6).hex()}"
        if call is not None and id is not None:
            self._publisher.send_nowait(TerminalPatch(id=id, command=line.text, cwd=line.cwd))
            await call.terminal(id)
        try:
            process = await start(line.words, line.cwd, {**os.environ, **line.env}, line.limit)
        except ConnectionClosed as error:
            self._report_end(id, error.reason.encode(), Exit(code=127))
            return CommandResult(output=error.reason, code=127)
        is_timed_out = False
        try:
            async with asyncio.timeout(line.deadline):
                await self._report_output(process, id)
        except TimeoutError:
            is_timed_out = True
        finally:
            status = await process.end()
            self._report_end(id, process.take_output(), status)
        return CommandResult(
            output=process.output,
            code=status.code,
            signal=status.signal,
            is_truncated=process.is_truncated,
            is_timed_out=is_timed_out,
        )

    async def _report_output(self, process: CommandProcess, id: str | None) -> None:
        async for chunk in process:
            if id is not None:
                await self._publisher.send(TerminalAppend(id=id, data=chunk))

    def _report_end(self, id: str | None, output: bytes, status: Exit) -> None:
        if id is not None:
            if output:
                self._publisher.send_nowait(TerminalAppend(id=id, data=output))
            self._publisher.send_nowait(TerminalPatch(id=id, exit=status))


_MAX_PENDING = 256 * 1024  # bytes; past that the command is paused
_GRACE = 1.0  # shorter than that of a cancelled turn, so that the turn sees the end


async def start(
    words: Sequence[str], cwd: str, env: Mapping[str, str], limit: int, *, memory: int = 0
) -> CommandProcess:
    """Start a command; `env` is its whole environment. `ConnectionClosed`, with advice, when it can't be started."""
    process = CommandProcess(limit)
    process.capture = await capture_command(
        words, env=env, cwd=cwd, on_output=process.add_output, terminate_grace=_GRACE, memory=memory
    )
    process.capture.ended.add_done_callback(process.wake)
    return process


class CommandProcess:
    """A started command. Iterate over it for its output; `output` keeps the last `limit` bytes of it."""

    capture: CapturedCommand

    def __init__(self, limit: int) -> None:
        self._tail = OutputTail(limit)
        self._chunks: list[bytes] = []
        self._pending_size = 0
        self._wakeup = asyncio.Event()

    @property
    def output(self) -> str:
        """The end of the output so far."""
        return self._tail.text

    @property
    def is_truncated(self) -> bool:
        """Whether the beginning of the output was dropped."""
        return self._tail.is_truncated

    def add_output(self, chunk: bytes) -> None:
        """Called with what the command writes."""
        self._tail.add(chunk)
        self._chunks.append(chunk)
        self._pending_size += len(chunk)
        if self._pending_size > _MAX_PENDING:
            self.capture.pause()
        self._wakeup.set()

    def wake(self, future: object) -> None:
        """Called when the command has ended."""
        self._wakeup.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self.capture.ended.done() or self._chunks:
            await self._wakeup.wait()
            self._wakeup.clear()
            if self._chunks:
                yield self.take_output()

    def take_output(self) -> bytes:
        """The output since the last call."""
        output = b"".join(self._chunks)
        self._chunks.clear()
        self._pending_size = 0
        self.capture.resume()
        return output

    async def end(self) -> Exit:
        """End whatever still runs, in bounded time; returns how the command ended."""
        await self.capture.end()
        self._tail.finish()
        return exit_status(await self.capture.ended)
