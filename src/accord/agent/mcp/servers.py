"""The MCP servers of one session: connects them all, and calls their tools."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from accord.agent.blocked_loop import slow_import
from accord.agent.mcp.content import McpResult, McpTool, OnProgress
from accord.agent.mcp.status import KINDS, Kind, ServerStatus, Settings, State, kind_of, name_of, notify
from accord.errors import ConnectionClosed, Unencodable
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer
from accord.transports.installation import install_command

if TYPE_CHECKING:
    from accord.agent.mcp.server_connection import ServerConnection

log = logging.getLogger("accord.mcp")

_CONNECTION_MODULE = "accord.agent.mcp.server_connection"


def is_installed() -> bool:
    """Whether the package `mcp` is installed; does not import it."""
    return find_spec("mcp") is not None


class ServerConnections:
    """MCP servers, each with a status, and the tools of those that are connected.

    `kinds` are those that the agent has offered. `env` is the environment of started servers, beside their own variables;
    None: our environment. `on_change` is called with every new status: connected, failed, tools changed, server lost.
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
        """The status of every server, in the order of `connect`, as it is now."""
        return [server if isinstance(server, ServerStatus) else server.status for server in self._servers]

    @property
    def tools(self) -> list[McpTool]:
        """The tools of all connected servers, as they are now."""
        return [tool for server in self._connections() for tool in server.tools]

    async def connect(self, servers: Sequence[McpServer]) -> list[ServerStatus]:
        """Connect all servers at once and return the status of each, in order. Failures are not raised.

        When it is cancelled, the servers that it has started are ended.
        """
        is_needed = any(kind_of(server) in self._kinds for server in servers)
        connection = await _connection_class() if is_needed else ""
        started = [self._start(server, connection) for server in servers]
        self._servers += started
        connections = [server for server in started if not isinstance(server, ServerStatus)]
        try:
            for server in connections:
                await asyncio.shield(server.settled)
        except BaseException:
            for server in connections:
                server.stop()
            raise
        return [server if isinstance(server, ServerStatus) else server.status for server in started]

    async def call(
        self,
        tool: McpTool,
        arguments: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        *,
        deadline: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> McpResult:
        """Call a tool; when it is cancelled or its deadline passes, the server is told to stop. `meta` is the request's
        `_meta`: `turn.trace` carries the trace of the prompt on.

        Raises `RequestFailed` when the server refuses, `ConnectionClosed` when it is not connected, `Malformed` when its
        result is. A failure that the tool itself reports is a result with `is_error`.
        """
        for server in self._connections():
            if server.name == tool.server:
                seconds = self._call_deadline if deadline is None else deadline
                return await server.call(tool, _to_json(tool, arguments), on_progress, deadline=seconds, meta=meta)
        raise ConnectionClosed(f"MCP server {tool.server!r} does not belong to this session")

    async def aclose(self) -> None:
        """End all servers, whatever they are doing. Safe to call twice, and from any task."""
        self._is_closed = True
        connections = self._connections()
        for server in connections:
            server.stop()
        if connections:
            await asyncio.wait([server.task for server in connections])

    def _connections(self) -> list[ServerConnection]:
        return [server for server in self._servers if not isinstance(server, ServerStatus)]

    def _start(self, server: McpServer, connection: type[ServerConnection] | str) -> ServerConnection | ServerStatus:
        name, kind = self._unique_name(server), kind_of(server)

        def ended(state: State, reason: str) -> ServerStatus:
            status = ServerStatus(name=name, kind=kind, state=state, reason=reason)
            notify(status, self._settings.on_change)
            return status

        if kind not in self._kinds or not isinstance(server, StdioServer | HttpServer | SseServer):
            verb = "offer" if kind in KINDS else "know"
            return ended("skipped", f"this agent does not {verb} servers of this kind")
        if isinstance(connection, str):
            return ended("failed", connection)
        if self._is_closed:
            return ended("closed", "the session is closed")
        return connection(server, name, self._settings)

    def _unique_name(self, server: McpServer) -> str:
        name = name_of(server)
        names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        unique = next(each for each in names if each not in self._names)
        self._names.add(unique)
        return unique


async def _connection_class() -> type[ServerConnection] | str:
    """The class, or why it can't be imported; in a thread, because importing mcp takes about a second.

    Always by an import, which waits for one that another session has begun: `sys.modules` has half a module meanwhile.
    """
    try:
        with slow_import():
            module = await asyncio.to_thread(import_module, _CONNECTION_MODULE)
    except Exception as error:  # the status of each server says it
        if not is_installed():
            return f"the package mcp is not installed; run: {install_command('mcp')}"
        log.info("mcp can't be imported", exc_info=error)
        return f"the installed package mcp is not compatible ({error}); run: {install_command('mcp')}"
    return module.ServerConnection


def _to_json(tool: McpTool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    # The writer of mcp, and with it the connection, fails on values that are not JSON.
    try:
        text = json.dumps(dict(arguments or {}), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unencodable(f"an argument of the tool {tool.name!r}", str(error)) from error
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
