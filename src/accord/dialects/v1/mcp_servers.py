"""MCP servers, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.absent import known, listed, told
from accord.dialects.mcp_servers import remote_server, stdio_server
from accord.dialects.pairs import pairs_to_wire
from accord.schema import v1 as wire
from accord.schema.values import UnsetType
from accord.session.servers import HttpServer, McpServer, SseServer, StdioServer
from accord.session.word import Unknown

__all__ = ["servers_from_wire", "servers_to_wire"]


def servers_to_wire(servers: Iterable[McpServer]) -> list[wire.McpServer]:
    return [_server_to_wire(server) for server in servers]


def _server_to_wire(server: McpServer) -> wire.McpServer:
    match server:
        case StdioServer():
            env = pairs_to_wire(wire.EnvVariable, server.env)
            return wire.McpServer(
                name=server.name, command=server.command, args=server.args, env=env, meta=told(server.meta)
            )
        case HttpServer() | SseServer():
            kind = "http" if isinstance(server, HttpServer) else "sse"
            headers = pairs_to_wire(wire.HttpHeader, server.headers)
            return wire.McpServer(type=kind, name=server.name, url=server.url, headers=headers, meta=told(server.meta))
        case Unknown():
            return wire.McpServer(type=server.tag, name=str(server.raw.get("name", server.tag)))


def servers_from_wire(servers: list[wire.McpServer] | UnsetType) -> list[McpServer]:
    """The servers; one of a kind v1 does not know keeps its kind and name, to be reported (FN-77)."""
    return [_server_from_wire(server) for server in listed(servers)]


def _server_from_wire(server: wire.McpServer) -> McpServer:
    match known(server.type):
        case None | "stdio":
            return stdio_server(server)
        case "http":
            return remote_server(HttpServer, server)
        case "sse":
            return remote_server(SseServer, server)
        case kind:
            return Unknown(tag=kind, raw={"type": kind, "name": server.name})
