"""The part of the user's machine that agents may use: v1's files and terminals, inside some directories.

An agent's requests are answered inside the directories that are open to its session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Self, TypeAlias

from msgspec import structs

from accord.client.permissions.writes_and_commands import command_permission_request, write_permission_request
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

AskFirst: TypeAlias = bool | Literal["commands"]

_CAPABILITY: dict[type[AcpRequest], str] = {
    ReadFile: "read_files",
    WriteFile: "write_files",
    **dict.fromkeys((CreateTerminal, ReadTerminal, WaitForExit, KillTerminal, ReleaseTerminal), "terminals"),
}


class FileWrite(WriteFile):
    """A file that was written, with the text that was replaced: None if there was none, or none that can be shown."""

    old_text: str | None = None


OnWrite: TypeAlias = Callable[[FileWrite], None]


class WorkspaceRequests:
    """The requests of all sessions; `Workspace` is how a user sees it."""

    def __init__(
        self,
        roots: Iterable[PathLike],
        files: WorkspaceFiles,
        terminals: Terminals,
        *,
        capabilities: ClientCapabilities,
        ask_first: AskFirst,
        on_write: OnWrite | None,
    ) -> None:
        self.files = files
        self.terminals = terminals
        self.capabilities = capabilities
        self.ask_first: AskFirst = ask_first
        self._on_write = on_write
        self._roots = Roots(roots)
        self._session_roots: dict[str, Roots] = {}

    def enter(self, session_id: str, directories: Iterable[PathLike]) -> None:
        """Open directories to a session, in place of those it had; commands start in the first."""
        self._session_roots[session_id] = Roots(directories)

    async def leave(self, session_id: str) -> None:
        """Close the session's directories to it, and end its commands."""
        self._session_roots.pop(session_id, None)
        await self.terminals.end_session(session_id)

    def offers(self, request: AcpRequest) -> bool:
        """Whether `answer` answers this request."""
        return getattr(self.capabilities, _CAPABILITY.get(type(request), ""), False)

    def needs_permission(self, request: AcpRequest) -> bool:
        """Whether the permission policy is asked before this is done."""
        is_write = isinstance(request, WriteFile) and self.ask_first is True
        return bool(self.ask_first) and (is_write or isinstance(request, CreateTerminal))

    async def permission_request(self, request: WriteFile | CreateTerminal) -> PermissionRequest:
        """The question for the user; Denied for a path outside the session's directories."""
        roots = self._roots_of(request.session_id)
        if isinstance(request, CreateTerminal):
            return command_permission_request(request, await self.terminals.directory(roots, request))
        return write_permission_request(request, await self.files.old_text(roots, request))

    async def real_path(self, request: WriteFile | CreateTerminal) -> str:
        """The file that would be written, or the directory in which the command would start; links are followed."""
        roots = self._roots_of(request.session_id)
        if isinstance(request, CreateTerminal):
            return await self.terminals.directory(roots, request)
        return await self.files.real_path(roots, request)

    async def real_paths(self, session_id: str, paths: Sequence[str]) -> list[str | None]:
        """Where paths lead that are relative to the session's directory; None for what is not a path."""
        roots = self._roots_of(session_id)
        return await in_thread(lambda: [_real_path(roots, path) for path in paths])

    async def answer(self, request: AcpRequest) -> Value:
        """The result, or a `RequestFailed`. Never part of a file that should be whole, nor a path outside."""
        if not self.offers(request):
            raise MethodNotFound(type(request).__name__)  # callers that know the method's name check `offers` first
        match request:
            case ReadFile():
                return await self.files.read(self._roots_of(request.session_id), request)
            case WriteFile():
                return await self._write(request)
            case CreateTerminal():
                return await self.terminals.create(self._roots_of(request.session_id), request)
            case ReadTerminal():
                return await self.terminals.read(request)
            case WaitForExit():
                return await self.terminals.wait(request)
            case KillTerminal():
                return await self.terminals.kill(request)
            case ReleaseTerminal():
                return await self.terminals.release(request)
            case _:
                raise TypeError(type(request).__name__)

    async def _write(self, request: WriteFile) -> EmptyResult:
        roots, on_write = self._roots_of(request.session_id), self._on_write
        old_text = await self.files.write(roots, request, returns_old_text=on_write is not None)
        if on_write is not None:
            on_write(FileWrite(**structs.asdict(request), old_text=old_text))
        return EmptyResult()

    def _roots_of(self, session_id: str) -> Roots:
        own = self._session_roots.get(session_id)
        return self._roots if own is None else own + self._roots


def _real_path(roots: Roots, path: str) -> str | None:
    try:
        # `..` is removed before links are followed, as a person reads it.
        return os.path.realpath(os.path.normpath(roots.directories[0] / path))
    except (OSError, ValueError, IndexError):
        return None


class Workspace:
    """Files and terminals for agents. Every request is answered or denied within a bounded time.

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
        asks_first: AskFirst = False,
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
        terminals = Terminals(
            on_terminal=on_terminal,
            output_limit=terminal_output_limit,
            running_limit=terminal_limit,
            shell=shell,
            env=env,
            kill_grace=kill_grace,
        )
        self._requests = WorkspaceRequests(
            [roots] if isinstance(roots, str | os.PathLike) else roots,
            WorkspaceFiles(buffers, missing_file, file_limit),
            terminals,
            capabilities=ClientCapabilities(read_files=read, write_files=write, terminals=run),
            ask_first=asks_first,
            on_write=on_write,
        )

    @property
    def capabilities(self) -> ClientCapabilities:
        """What is offered: `read_files`, `write_files`, `terminals`."""
        return self._requests.capabilities

    @property
    def missing_file(self) -> MissingFile:
        """The answer when an agent reads a file that does not exist; may be set at any time (FN-95)."""
        return self._requests.files.missing_file

    @missing_file.setter
    def missing_file(self, answer: MissingFile) -> None:
        self._requests.files.missing_file = answer

    @property
    def terminals(self) -> Mapping[str, TerminalProcess]:
        """By id, the oldest first; also the last thousand that the agent has released (TERM-16)."""
        return self._requests.terminals.known

    def enter(self, session_id: str, cwd: PathLike, additional_directories: Iterable[PathLike] = ()) -> None:
        """Open directories to a session, in place of those it had; commands start in `cwd`."""
        self._requests.enter(session_id, [cwd, *additional_directories])

    async def leave(self, session_id: str) -> None:
        """Close the session's directories to it, and end the commands that it left running."""
        await self._requests.leave(session_id)

    def offer_terminals(self) -> None:
        """Offer terminals to agents that connect from now on."""
        self.capabilities.terminals = True

    async def answer(self, request: AcpRequest) -> Value:
        """The result, or a `RequestFailed`. Never part of a file that should be whole, nor a path outside."""
        return await self._requests.answer(request)

    async def aclose(self) -> None:
        """End every command and everything that it started. Safe to call twice, and from any task."""
        await self._requests.terminals.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


def requests_of(workspace: Workspace) -> WorkspaceRequests:
    """The object behind a workspace, for a client that answers its agent's requests."""
    return workspace._requests  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # the user's object hides it
