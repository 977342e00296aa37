"""The MCP servers of the settings, and which of them an agent can be told of."""

from __future__ import annotations

from collections.abc import Sequence

from accord.apps.console.sanitising import one_line
from accord.client.checks import server_type, takes_server
from accord.session.capabilities import AgentCapabilities
from accord.session.servers import McpServer

__all__ = ["left_out", "named", "taken"]


def taken(servers: Sequence[McpServer], can: AgentCapabilities) -> list[McpServer]:
    """Those that the agent can connect to."""
    return [server for server in servers if takes_server(server, can)]


def left_out(servers: Sequence[McpServer], can: AgentCapabilities) -> list[str]:
    """For each of the others, what to tell the user."""
    return [
        f"MCP server {named(server)!r} is left out: the agent takes none of type {server_type(server)}"
        for server in servers
        if not takes_server(server, can)
    ]


def named(server: McpServer) -> str:
    return one_line(getattr(server, "name", "?"), 80)
