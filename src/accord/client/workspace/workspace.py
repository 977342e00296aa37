"""The part of the user's machine that an agent may ask for: v1's files and terminals, inside some directories."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Literal, Self, TypeAlias

from msgspec import structs

from accord.client.permissions.writes_and_commands import may_run, may_write
from accord.client.workspace.files import Buffers, MissingFile, WorkspaceFiles
from accord.client.workspace.terminals import OnTerminal, TerminalProcess, Terminals
from accord.errors import MethodNotFound
from accord.local.paths import PathLike, Roots
from accord.local.threads import in_thread
from accord.session.capabilities import ClientCapabilities
from accord.session.requests import (
    AcpRequest,
    CreateTerminal,
    EmptyResult,
    KillTerminal,
    PermissionRequest,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    WaitForExit,
    WriteFile,
)
from accord.session.value import Value

__all__ = ["FileWrite", "OnWrite", "Workspace"]


class FileWrite(WriteFile):
    """A write that was done, with the text that it replaced: None if there was none, or none that can be shown."""

    old_text: str | None = None


OnWrite: TypeAlias = Callable[[FileWrite], None]

_CAPABILITY: dict[type[AcpRequest], str] = {
    ReadFile: "read_files",
    WriteFile: "write_files",
    **dict.fromkeys((CreateTerminal, ReadTerminal, WaitForExit, KillTerminal, ReleaseTerminal), "terminals"),
}


class Workspace:
    """Answers what agents ask of files and terminals; it has them or denies them, and waits for nobody for ever.

    `roots` are open to every session, `enter` opens more to one. `read`, `write` and `run` say what is offered at all.
    With `asks_first` a client puts each write and each command to its permission policy, as if it were a tool call; with
    `"commands"` each command only.
    """

    def __init__(
        self,
        roots: PathLike | Iterable[PathLike] = (),
        *,
        read: bool = True,
        write: bool = True,
        run: bool = True,
        asks_first: bool | Literal["commands"] = False,
        on_write: OnWrite | None = None,
        buffers: Buffers | None = None,
        missing_file: MissingFile = "error",
        file_limit: int = 16 * 1024 * 1024,
        on_terminal: OnTerminal | None = None,
        terminal_output_limit: int = 4 * 1024 * 1024,
        terminal_limit: int = 32,
        shell: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        kill_grace: float = 1.0,
    ) -> None:
        self.capabilities = ClientCapabilities(read_files=read, write_files=write, terminals=run)
        self._asks_first: bool | Literal["commands"] = asks_first
        self._on_write = on_write
        self._roots = Roots([roots] if isinstance(roots, str | os.PathLike) else roots)
        self._of_session: dict[str, Roots] = {}
        self._files = WorkspaceFiles(buffers, missing_file, file_limit)
        self._terminals = Terminals(
            on_terminal=on_terminal,
            output_limit=terminal_output_limit,
            running_limit=terminal_limit,
            shell=shell,
            env=env,
            kill_grace=kill_grace,
        )

    @property
    def missing_file(self) -> MissingFile:
        """What the reading of a file that does not exist is answered with; may be set at any time (FN-95)."""
        return self._files.missing_file

    @missing_file.setter
    def missing_file(self, answer: MissingFile) -> None:
        self._files.missing_file = answer

    @property
    def terminals(self) -> Mapping[str, TerminalProcess]:
        """By id, the oldest first; also those that the agent has released, the last thousand of them (TERM-16)."""
        return self._terminals.known

    def enter(self, session_id: str, cwd: PathLike, additional_directories: Iterable[PathLike] = ()) -> None:
        """Open its directories to a session; they take the place of those it had, and `cwd` is where commands start."""
        self._of_session[session_id] = Roots([cwd, *additional_directories])

    async def leave(self, session_id: str) -> None:
        """Close its directories to a session again, and end the commands that it left running."""
        self._of_session.pop(session_id, None)
        await self._terminals.end_session(session_id)

    def offers(self, asked: AcpRequest) -> bool:
        """Whether this is something that `answer` answers."""
        return getattr(self.capabilities, _CAPABILITY.get(type(asked), ""), False)

    @property
    def asks_first(self) -> bool:
        """Whether the policy is asked about some of what agents want done here."""
        return bool(self._asks_first)

    def asks_about(self, asked: AcpRequest) -> bool:
        """Whether the policy is asked about this, before it is done."""
        is_asked = isinstance(asked, CreateTerminal) or (isinstance(asked, WriteFile) and self._asks_first is True)
        return self.asks_first and is_asked

    def offer_terminals(self) -> None:
        """Offer terminals to whoever connects from now on."""
        self.capabilities.terminals = True

    async def question(self, asked: WriteFile | CreateTerminal) -> PermissionRequest:
        """What to ask the user before this is done; Denied for what would not be done anyway."""
        roots = self._open_to(asked.session_id)
        if isinstance(asked, CreateTerminal):
            return may_run(asked, await self._terminals.directory(roots, asked))
        return may_write(asked, await self._files.before(roots, asked))

    async def place_of(self, asked: WriteFile | CreateTerminal) -> str:
        """The file that would really be written, or the directory in which the command would really start."""
        roots = self._open_to(asked.session_id)
        if isinstance(asked, CreateTerminal):
            return await self._terminals.directory(roots, asked)
        return await self._files.real(roots, asked)

    async def places_told(self, session_id: str, paths: Sequence[str]) -> list[str | None]:
        """Where paths lead that were told in a session, read from its directory on; None for what is no path."""
        roots = self._open_to(session_id)
        return await in_thread(lambda: [_led_to(roots, path) for path in paths])

    async def answer(self, asked: AcpRequest) -> Value:
        """The answer, or a `RequestFailed`. Never a part of a file that should be whole, nor a path outside."""
        if not self.offers(asked):
            raise MethodNotFound(type(asked).__name__)  # who knows the method's name on the wire asks `offers` first
        match asked:
            case ReadFile():
                return await self._files.read(self._open_to(asked.session_id), asked)
            case WriteFile():
                return await self._write(asked)
            case CreateTerminal():
                return await self._terminals.create(self._open_to(asked.session_id), asked)
            case ReadTerminal():
                return await self._terminals.read(asked)
            case WaitForExit():
                return await self._terminals.wait(asked)
            case KillTerminal():
                return await self._terminals.kill(asked)
            case ReleaseTerminal():
                return await self._terminals.release(asked)
            case _:
                raise TypeError(type(asked).__name__)

    async def aclose(self) -> None:
        """End every command and all that they started. Safe to call twice, and from any task."""
        await self._terminals.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _write(self, asked: WriteFile) -> EmptyResult:
        roots, on_write = self._open_to(asked.session_id), self._on_write
        before = await self._files.write(roots, asked, tells_before=on_write is not None)
        if on_write is not None:
            on_write(FileWrite(**structs.asdict(asked), old_text=before))
        return EmptyResult()

    def _open_to(self, session_id: str) -> Roots:
        of_session = self._of_session.get(session_id)
        return self._roots if of_session is None else of_session + self._roots


def _led_to(roots: Roots, path: str) -> str | None:
    try:
        # `..` as who was asked has read it
        return os.path.realpath(os.path.normpath(roots.directories[0] / path))
    except (OSError, ValueError, IndexError):
        return None
