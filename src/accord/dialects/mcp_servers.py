"""MCP servers of the kinds that every version has, as words; what they are on the wire differs."""

from __future__ import annotations

from typing import Any, TypeVar

from accord.dialects.absent import known, listed
from accord.dialects.pairs import pairs_from_wire
from accord.session.servers import HttpServer, SseServer, StdioServer

__all__ = ["remote_server", "stdio_server"]

Remote = TypeVar("Remote", HttpServer, SseServer)


def stdio_server(server: Any) -> StdioServer:
    """A server that the agent starts."""
    return StdioServer(
        name=server.name,
        command=server.command,
        args=listed(server.args),
        env=pairs_from_wire(server.env),
        meta=known(server.meta),
    )


def remote_server(word: type[Remote], server: Any) -> Remote:
    """A server that is reached by its URL."""
    return word(name=server.name, url=server.url, headers=pairs_from_wire(server.headers), meta=known(server.meta))
