"""MCP servers, between v2 and words."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.absent import listed, told
from accord.dialects.mcp_servers import remote_server, stdio_server
from accord.dialects.pairs import pairs_to_wire
from accord.errors import InvalidParams
from accord.schema import v2 as wire
from accord.schema.values import UNSET, UnsetType
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.word import Unknown

__all__ = ["servers_from_wire", "servers_to_wire"]


def servers_to_wire(servers: Iterable[McpServer]) -> list[wire.McpServer] | UnsetType:
    """The servers; InvalidParams, as an agent would answer, for one of the kind that v2 no longer has."""
    return [_server_to_wire(server, f"mcpServers[{index}]") for index, server in enumerate(servers)] or UNSET


def _server_to_wire(server: McpServer, field: str) -> wire.McpServer:
    match server:
        case StdioServer():
            return wire.McpServerStdio(
                name=server.name,
                command=server.command,
                args=server.args or UNSET,
                env=pairs_to_wire(wire.EnvVariable, server.env) or UNSET,
                meta=told(server.meta),
            )
        case HttpServer():
            headers = pairs_to_wire(wire.HttpHeader, server.headers) or UNSET
            return wire.McpServerHttp(name=server.name, url=server.url, headers=headers, meta=told(server.meta))
        case SseServer():
            raise InvalidParams("v2 has no MCP servers of type sse", field=f"{field}.type")
        case Unknown():
            return UnknownOnWire(server.tag, server.raw)


def servers_from_wire(servers: list[wire.McpServer] | UnsetType) -> list[McpServer]:
    """The servers; InvalidParams for a kind that is not known, and for two of the same name."""
    read: list[McpServer] = []
    names: set[str] = set()
    for index, server in enumerate(listed(servers)):
        if isinstance(server, UnknownOnWire):
            raise InvalidParams("this agent has no such MCP transport", field=f"mcpServers[{index}].type")
        if server.name in names:
            raise InvalidParams("two MCP servers have this name", field=f"mcpServers[{index}].name")
        names.add(server.name)
        is_stdio = isinstance(server, wire.McpServerStdio)
        read.append(stdio_server(server) if is_stdio else remote_server(HttpServer, server))
    return read
