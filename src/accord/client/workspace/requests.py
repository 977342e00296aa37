"""Answers an agent's requests for files and terminals (v1), inside the directories that are open to its session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import structs

from accord.client.permissions.writes_and_commands import command_permission_request, write_permission_request
from accord.client.workspace.files import WorkspaceFiles
from accord.client.workspace.terminals import Terminals
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

__all__ = ["AskFirst", "FileWrite", "OnWrite", "WorkspaceRequests"]

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
