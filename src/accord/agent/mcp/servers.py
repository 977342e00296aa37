"""All MCP servers of one session."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from accord.agent.blocked_loop import loading
from accord.agent.mcp.content import McpResult, McpTool, OnProgress
from accord.agent.mcp.status import KINDS, Kind, ServerStatus, Settings, kind_of, name_of, told
from accord.errors import ConnectionClosed, Unencodable
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer

if TYPE_CHECKING:
    from accord.agent.mcp.server_connection import ServerConnection

__all__ = ["ServerConnections", "is_installed"]

log = logging.getLogger("accord.mcp")

_OWNER = "accord.agent.mcp.server_connection"


def is_installed() -> bool:
    """Whether the package `mcp` is there, without importing it."""
    return find_spec("mcp") is not None


class ServerConnections:
    """The servers that a client named, each with its status, and the tools of those that are connected.

    `kinds` are those the agent has offered. `env` is what a started server gets beside its own variables, None our
    environment. `on_change` is told each status as it comes, also later: a list of tools that changed, a server that died.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        *,
        kinds: Collection[Kind] = KINDS,
        env: Mapping[str, str] | None = None,
        client_name: str = "accord",
        client_version: str = "0",
        connect_deadline: float = 30.0,
        call_deadline: float | None = None,
        on_change: Callable[[ServerStatus], None] | None = None,
    ) -> None:
        self._kinds = frozenset(kinds)
        self._call_deadline = call_deadline
        self._settings = Settings(os.fspath(cwd), env, client_name, client_version, connect_deadline, on_change)
        self._servers: list[ServerConnection | ServerStatus] = []
        self._names: set[str] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def statuses(self) -> list[ServerStatus]:
        """Of every server ever named here, in that order, as they are now."""
        return [server if isinstance(server, ServerStatus) else server.status for server in self._servers]

    @property
    def tools(self) -> list[McpTool]:
        """Of all connected servers, as they are now."""
        return [tool for server in self._owners() for tool in server.tools]

    async def connect(self, servers: Sequence[McpServer]) -> list[ServerStatus]:
        """Connect all at once and return the status of each, in order. No server's failure is raised.

        Cancelled, it ends the servers it has started.
        """
        offered = any(kind_of(server) in self._kinds for server in servers)
        owner = await _owner_class() if offered else ""
        begun = [self._begin(server, owner) for server in servers]
        self._servers += begun
        owners = [server for server in begun if not isinstance(server, ServerStatus)]
        try:
            for server in owners:
                await asyncio.shield(server.settled)
        except BaseException:
            for server in owners:
                server.stop()
            raise
        return [server if isinstance(server, ServerStatus) else server.status for server in begun]

    async def call(
        self,
        tool: McpTool,
        arguments: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        *,
        deadline: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> McpResult:
        """Call a tool; cancelled or past its deadline, the server is told to stop. `meta` is the request's `_meta`:
        with `turn.trace` the prompt's trace goes on in the server.

        Raises `RequestFailed` when the server refuses, `ConnectionClosed` when it is gone, `Malformed` when its result
        can't be read. A tool that failed by its own account is a result with `is_error`.
        """
        for server in self._owners():
            if server.name == tool.server:
                seconds = self._call_deadline if deadline is None else deadline
                return await server.call(tool, _sendable(tool, arguments), on_progress, deadline=seconds, meta=meta)
        raise ConnectionClosed(f"MCP server {tool.server!r} is not one of this session's")

    async def aclose(self) -> None:
        """End all of them, whatever they are doing. Safe to call twice, and from any task."""
        self._is_closed = True
        owners = self._owners()
        for server in owners:
            server.stop()
        if owners:
            await asyncio.wait([server.task for server in owners])

    def _owners(self) -> list[ServerConnection]:
        return [server for server in self._servers if not isinstance(server, ServerStatus)]

    def _begin(self, server: McpServer, owner: type[ServerConnection] | str) -> ServerConnection | ServerStatus:
        name = self._name(server)
        kind = kind_of(server)
        if kind not in self._kinds or not isinstance(server, StdioServer | HttpServer | SseServer):
            known = "this agent does not offer" if kind in KINDS else "this agent does not know"
            return self._told(
                ServerStatus(name=name, kind=kind, state="skipped", reason=f"{known} servers of this kind")
            )
        if isinstance(owner, str):
            return self._told(ServerStatus(name=name, kind=kind, state="failed", reason=owner))
        if self._is_closed:
            return self._told(ServerStatus(name=name, kind=kind, state="closed", reason="the session is closed"))
        return owner(server, name, self._settings)

    def _name(self, server: McpServer) -> str:
        name = given = name_of(server)
        number = 1
        while name in self._names:
            number += 1
            name = f"{given}-{number}"
        self._names.add(name)
        return name

    def _told(self, status: ServerStatus) -> ServerStatus:
        told(status, self._settings.on_change)
        return status


async def _owner_class() -> type[ServerConnection] | str:
    # In a thread, because importing mcp costs about a second.
    try:
        if (loaded := sys.modules.get(_OWNER)) is not None:
            return loaded.ServerConnection
        with loading():
            module = await asyncio.to_thread(import_module, _OWNER)
    except Exception as error:  # whatever is wrong with it, each server's status says so
        if not is_installed():
            return "the package that speaks MCP is missing; run: pip install 'accord[mcp]'"
        log.info("mcp can't be imported", exc_info=error)
        return f"the installed package mcp does not fit ({error}); run: pip install --upgrade 'accord[mcp]'"
    return module.ServerConnection


def _sendable(tool: McpTool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    # mcp's writers end on what they can't write, and the connection with them.
    try:
        text = json.dumps(dict(arguments or {}), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unencodable(f"an argument of the tool {tool.name!r}", str(error)) from error
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
