"""The part of the user's machine that agents may use: v1's files and terminals, inside some directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from accord.client.workspace.files import Buffers, MissingFile, WorkspaceFiles
from accord.client.workspace.requests import AskFirst, OnWrite, WorkspaceRequests
from accord.client.workspace.terminals import OnTerminal, TerminalProcess, Terminals
from accord.local.paths import PathLike
from accord.session.capabilities import ClientCapabilities
from accord.session.requests import AcpRequest
from accord.session.value import Value

__all__ = ["Workspace", "requests_of"]


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
