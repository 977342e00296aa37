"""Runs commands to their end: in the client's terminals where it has them, otherwise as child processes.

Law: a command and everything it started has ended when its run returns, is cancelled, or this process is killed. A slow
client slows the command down.

Clients display the words that they are asked to run; some join them with blanks and pass that to a shell. So words that a
shell leaves as they are, given as words or as a shell line, are sent as they are. Anything else is written to a script,
whose name tells the command, and the client is asked for a shell with that script: the same two words for every client.
The script removes itself first, and stops if it can't. So a script that still exists was never run: the client does not
see our disk, and the words may be sent after all.

Laws of the client's terminals: a terminal that was created is released, whatever happens. After a kill no wait is longer
than a few seconds, and an exit status that the client does not have by then stays unknown (FN-73).
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from accord.agent.connection import AgentConnection
from accord.agent.session import Publisher
from accord.agent.tool_calls import AgentToolCall, CommandResult
from accord.errors import AccordError, ConnectionClosed
from accord.local.paths import file_kind
from accord.local.processes import exit_status
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
from accord.session.updates import TerminalAppend, TerminalPatch
from accord.transports.command_output import CapturedCommand, capture_command
from accord.transports.output_tail import OutputTail

_AFTER_KILL = 2.0
_RELEASE = 10.0
_MAX_PENDING = 256 * 1024  # bytes; past that the command is paused
_GRACE = 1.0  # shorter than that of a cancelled turn, so that the turn sees the end
_MAX_NAME = 40
_SHELL_WORDS = {
    ".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
    "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable", "esac", "eval", "exec",
    "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs",
    "kill", "let", "local", "logout", "mapfile", "popd", "pushd", "pwd", "read", "readarray", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "suspend", "then", "time", "times", "trap", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
}  # fmt: skip
"""Builtins and keywords of shells."""


def is_inert(words: list[str]) -> bool:
    """Whether a shell splits the words, joined by blanks, into the same words."""
    return all(shlex.quote(word) == word and word[0] != "=" for word in words) and "=" not in words[0]


def plain_words(line: CommandLine) -> list[str] | None:
    """A shell line as a program and its arguments; None if it is more than that, or the program is not found."""
    if sys.platform == "win32" or not line.is_shell_line or "\n" in line.text:
        return None
    words = line.text.split()
    if not words or not is_inert(words) or words[0] in _SHELL_WORDS:
        return None
    if words[0] == "echo" and words[1:2] and words[1].startswith("-"):  # shells differ in this
        return None
    if not Path(line.cwd).is_dir():
        return words
    program = Path(line.cwd, words[0]) if "/" in words[0] else words[0]
    return words if shutil.which(program, path={**os.environ, **line.env}.get("PATH")) else None


def write_script(line: CommandLine) -> Script | None:
    """Write the command to a script; None where that is of no use: the directory is not on our disk, or there is no sh."""
    if sys.platform == "win32" or file_kind(Path(line.cwd)) != "directory":
        return None
    import tempfile  # noqa: PLC0415  # slow to load, and not needed at start-up

    name = re.sub(r"[^A-Za-z0-9.]+", "-", line.text)[:_MAX_NAME].strip("-.") or "command"
    directory = tempfile.mkdtemp(prefix="accord-")
    script = Script(directory, name)
    command = line.text if line.is_shell_line else f"exec {line.text}"
    remove = f"rm -- {script.path} && rmdir -- {directory} || exit 126"
    is_usable = False
    try:
        Path(script.path).write_text(f"{remove}\n{command}\n", encoding="utf-8", newline="")
        is_usable = is_inert(script.words)
    finally:
        if not is_usable:
            script.remove()
    return script if is_usable else None


class Script:
    """A script that runs a command once, in a directory of its own."""

    def __init__(self, directory: str, name: str) -> None:
        self.path = f"{directory}/{name}"
        self.words = ["/bin/sh", self.path]
        self._directory = directory

    @property
    def has_started(self) -> bool:
        """Whether it ran: it removes itself first."""
        return not os.path.lexists(self.path)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)  # noqa: PTH108
        with suppress(FileNotFoundError):
            os.rmdir(self._directory)  # noqa: PTH106


class CommandLine(msgspec.Struct, frozen=True):
    """A command to run, and where; `env` is added to the environment."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    deadline: float | None
    limit: int

    @property
    def is_shell_line(self) -> bool:
        """Whether the last word is a line for the default shell."""
        return self.words[:-1] == _SHELL

    @property
    def text(self) -> str:
        """The command as a user would type it."""
        return self.words[-1] if self.is_shell_line else shlex.join(self.words)


_SHELL = ["cmd.exe", "/d", "/s", "/c"] if sys.platform == "win32" else ["/bin/sh", "-c"]


def split_command(command: Sequence[str]) -> list[str]:
    """The program and its arguments; a single string with blanks in it is a line for the shell."""
    if not command:
        raise TypeError("run() needs a command")
    words: Any = command
    if not all(isinstance(word, str | os.PathLike) for word in words):
        raise TypeError("run() takes the words of a command one by one: turn.run('git', 'status'), or turn.run(*words)")
    if len(command) == 1 and any(letter.isspace() for letter in str(command[0])):
        return [*_SHELL, command[0]]
    return list(command)


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
