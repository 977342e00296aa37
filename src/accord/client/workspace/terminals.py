"""The commands that agents run in a workspace: how they are started, limited and shown.

Law: an argument never meets a shell. With arguments, `command` is the program and each argument arrives as it was sent
(FN-72). Without, it is the program if there is one of that name, blanks included, and otherwise a line for the shell:
many agents send whole command lines that way. It is a line if it begins with a bare name and has blanks: else a repository
with a directory `cat x`, or with a program `make test` in a directory of PATH, would decide what such a line means.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from accord.errors import ConnectionClosed, Denied, InvalidParams, NotFound, RequestCancelled, RequestFailed
from accord.local.paths import Roots, file_kind
from accord.local.processes import exit_status
from accord.peer.limited_log import LimitedLog
from accord.session.entities import Exit
from accord.session.requests import (
    CreateTerminal,
    CreateTerminalResult,
    EmptyResult,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    TerminalSnapshot,
    WaitForExit,
)
from accord.session.updates import TerminalAppend, TerminalPatch
from accord.transports.command_output import CapturedCommand, capture_command
from accord.transports.output_tail import OutputTail
from accord.transports.spawn import find_program


class TerminalProcess:
    """A command and the end of its output; both stay as they are when the agent has released it (TERM-16).

    No pseudo-terminal is behind it: the command writes to a pipe and reads from the null device.
    """

    def __init__(self, session_id: str, command: str, cwd: str, limit: int, tell: OnTerminal) -> None:
        # Random, because a transcript may outlive us and must not show the output of another command.
        self.id = f"term_{secrets.token_hex(8)}"
        self.session_id = session_id
        self.command = command
        self.cwd = cwd
        self.exit: Exit | None = None
        self.is_released = False
        self._tail = OutputTail(limit)
        self._tell = tell
        self._capture: CapturedCommand | None = None
        self._exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._releasing: asyncio.Task[None] | None = None

    @property
    def output(self) -> str:
        """What the command has written, as far as it is kept."""
        return self._tail.text

    @property
    def is_truncated(self) -> bool:
        """Whether the beginning of the output is gone."""
        return self._tail.is_truncated

    @property
    def size(self) -> int:
        """Bytes of output that are kept."""
        return len(self._tail)

    @property
    def is_gone(self) -> bool:
        """Whether nothing that the command started runs any more."""
        return self._capture is None or self._capture.is_gone

    def began(self, capture: CapturedCommand) -> None:
        """The command runs."""
        self._capture = capture
        capture.ended.add_done_callback(self._ended)
        self._tell(TerminalEvent("created", self))

    def heard(self, piece: bytes) -> None:
        """The command has written something."""
        self._tail.add(piece)
        self._tell(TerminalEvent("output", self, piece))

    async def wait(self) -> Exit:
        """Returns when the command has ended and all that it wrote is in the output."""
        return await asyncio.shield(self._exited)

    async def kill(self) -> None:
        """End the command and all that it started; bounded in time. What was written stays (TERM-27)."""
        assert self._capture is not None
        await self._capture.end()

    async def release(self) -> None:
        """End it, and let go of everything but the output (TERM-29). Safe twice, and from any task."""
        if self._releasing is None:
            self.is_released = True
            self._releasing = asyncio.create_task(self._release(), name="accord terminal release")
        await asyncio.shield(self._releasing)

    def drop_output(self) -> None:
        """Give up the output: there is too much of it in all."""
        self._tail.drop()

    async def _release(self) -> None:
        await self.kill()
        await asyncio.shield(self._exited)
        self._tell(TerminalEvent("released", self))

    def _ended(self, ended: asyncio.Future[int | None]) -> None:
        self._tail.finish()
        self.exit = exit_status(ended.result())
        self._exited.set_result(self.exit)
        self._tell(TerminalEvent("exited", self))


class TerminalEvent(msgspec.Struct, frozen=True):
    """Something happened to a terminal: created, output*, exited, output* of what it left behind, released."""

    kind: Literal["created", "output", "exited", "released"]
    terminal: TerminalProcess
    data: bytes = b""

    @property
    def patch(self) -> TerminalPatch | TerminalAppend | None:
        """The same for a transcript, where it looks like a terminal that a v2 agent shows; None for a release."""
        terminal = self.terminal
        if self.kind == "created":
            return TerminalPatch(id=terminal.id, command=terminal.command, cwd=terminal.cwd)
        if self.kind == "output":
            return TerminalAppend(id=terminal.id, data=self.data)
        if self.kind == "exited":
            return TerminalPatch(id=terminal.id, exit=terminal.exit)
        return None


OnTerminal: TypeAlias = Callable[[TerminalEvent], None]

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
        self._known: dict[str, TerminalProcess] = {}
        self._starting: dict[asyncio.Task[TerminalProcess], str] = {}
        self._limited = LimitedLog()
        self._is_closed = False

    @property
    def known(self) -> Mapping[str, TerminalProcess]:
        """By id, the oldest first: all that are not released, and the last thousand that are."""
        return MappingProxyType(self._known)

    async def create(self, roots: Roots, request: CreateTerminal) -> CreateTerminalResult:
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
        start = asyncio.create_task(self._start(roots, request), name="accord terminal")
        self._starting[start] = request.session_id
        try:
            terminal = await start
        finally:
            del self._starting[start]
        return CreateTerminalResult(terminal_id=terminal.id)

    async def directory(self, roots: Roots, request: CreateTerminal) -> str:
        """Where the command would start."""
        return await asyncio.to_thread(_directory, roots, request.cwd)

    async def read(self, request: ReadTerminal) -> TerminalSnapshot:
        """What there is now, without waiting. TERM-19"""
        terminal = self._find(request)
        return TerminalSnapshot(output=terminal.output, truncated=terminal.is_truncated, exit=terminal.exit)

    async def wait(self, request: WaitForExit) -> Exit:
        """Also answered when the command is killed or the terminal released meanwhile. TERM-25, AMB-66"""
        return await self._find(request).wait()

    async def kill(self, request: KillTerminal) -> EmptyResult:
        """Returns when the command has ended. TERM-27"""
        await self._find(request).kill()
        return EmptyResult()

    async def release(self, request: ReleaseTerminal) -> EmptyResult:
        """From now on the id is unknown. TERM-30"""
        await self._find(request).release()
        return EmptyResult()

    async def end_session(self, session_id: str) -> None:
        """Release what the session has left."""
        await self._end(session_id)

    async def aclose(self) -> None:
        """Release all; nothing can be started afterwards. Safe to call twice, and from any task."""
        self._is_closed = True
        await self._end(None)

    async def _start(self, roots: Roots, request: CreateTerminal) -> TerminalProcess:
        env = environment(request, os.environ if self._env is None else self._env)
        cwd, command = await asyncio.to_thread(self._plan, roots, request, env)
        limit = self._output_limit
        if request.output_byte_limit is not None:
            limit = min(limit, request.output_byte_limit)
        terminal = TerminalProcess(request.session_id, command_line(request), cwd, limit, self._tell)
        try:
            capture = await capture_command(
                command, env=env, cwd=cwd, on_output=terminal.heard, terminate_grace=self._kill_grace
            )
        except (ConnectionClosed, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, ConnectionClosed) else "the system can't run it"
            raise InvalidParams(reason, field="command") from error
        self._known[terminal.id] = terminal
        terminal.began(capture)
        return terminal

    def _plan(self, roots: Roots, request: CreateTerminal, env: Mapping[str, str]) -> tuple[str, list[str]]:
        cwd = _directory(roots, request.cwd)
        return cwd, program_of(request, env, cwd, self._shell or usual_shell())

    def _find(self, request: ReadTerminal | WaitForExit | KillTerminal | ReleaseTerminal) -> TerminalProcess:
        terminal = self._known.get(request.terminal_id)
        if terminal is None or terminal.is_released or terminal.session_id != request.session_id:
            raise NotFound(terminal_id=request.terminal_id)  # AMB-34
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
        real = roots.resolve(cwd, "terminal.cwd", "cwd").real
    elif roots.directories:
        real = roots.directories[0]
    else:
        raise Denied("terminal.cwd: the session has no directory")
    if file_kind(real) != "directory":
        raise InvalidParams("there is no such directory", field="cwd")
    return str(real)


def usual_shell() -> list[str]:
    """Bash where there is one, because that is what models write for, else sh; on Windows cmd (not tested)."""
    if sys.platform == "win32":
        return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c"]
    return [shutil.which("bash") or "/bin/sh", "-c"]


def program_of(request: CreateTerminal, env: Mapping[str, str], cwd: str, shell: Sequence[str]) -> list[str]:
    """The program and its arguments."""
    if not request.command.strip():
        raise InvalidParams("there is no command", field="command")
    if request.args:
        return [request.command, *request.args]
    first, *more = request.command.split()
    if more and PurePath(first).name == first:
        return [*shell, request.command]
    try:
        find_program([request.command], env, cwd)
    except (ConnectionClosed, OSError, ValueError):
        return [*shell, request.command]
    return [request.command]


def environment(request: CreateTerminal, ours: Mapping[str, str]) -> dict[str, str]:
    """Ours, with what was asked for laid over it."""
    for name in request.env:
        if not name or "=" in name:
            raise InvalidParams("a variable's name must not be empty or hold an equals sign", field="env")
    return {**ours, **request.env}


def command_line(request: CreateTerminal) -> str:
    """The command as a user would type it."""
    return shlex.join([request.command, *request.args]) if request.args else request.command
