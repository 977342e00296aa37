"""The MCP servers of a session: connected, their tools called, the status of each one told.

The package `mcp` is not imported before the first server is named.
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
