"""The MCP servers of the settings, and which of them an agent can be told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from accord.apps.console.sanitising import one_line
from accord.client.checks import server_type, takes_server
from accord.session.capabilities import AgentCapabilities
from accord.session.servers import McpServer, StdioServer
from accord.session.validation import is_relative

__all__ = ["left_out", "named", "taken"]


def taken(servers: Sequence[McpServer], can: AgentCapabilities, cwd: str | Path) -> list[McpServer]:
    """Those that the agent can connect to. A command with a directory in it is looked for from `cwd`."""
    return [_placed(server, cwd) for server in servers if takes_server(server, can)]


def _placed(server: McpServer, cwd: str | Path) -> McpServer:
    if isinstance(server, StdioServer) and is_relative(server.command):
        return replace(server, command=str(Path(cwd).absolute() / server.command))
    return server


def left_out(servers: Sequence[McpServer], can: AgentCapabilities) -> list[str]:
    """For each of the others, what to tell the user."""
    return [
        f"MCP server {named(server)!r} is left out: the agent takes none of type {server_type(server)}"
        for server in servers
        if not takes_server(server, can)
    ]


def named(server: McpServer) -> str:
    return one_line(getattr(server, "name", "?"), 80)
