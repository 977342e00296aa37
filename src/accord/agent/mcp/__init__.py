"""MCP servers: connecting them, calling their tools, and the status of each.

The package `mcp` is not imported before a session has a server.
"""

from __future__ import annotations

from accord.agent.mcp.content import McpResult, McpTool, OnProgress
from accord.agent.mcp.servers import ServerConnections, is_installed
from accord.agent.mcp.status import KINDS, Kind, ServerStatus, failed, kind_of, not_offered, skipped

__all__ = [
    "KINDS",
    "Kind",
    "McpResult",
    "McpTool",
    "OnProgress",
    "ServerConnections",
    "ServerStatus",
    "failed",
    "is_installed",
    "kind_of",
    "not_offered",
    "skipped",
]
