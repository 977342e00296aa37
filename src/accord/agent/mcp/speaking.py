"""What an agent says to an MCP server: the greeting, the question for its tools, and calls of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import ClientSession, MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    PaginatedRequestParams,
    Tool,
)

from accord.agent.mcp.dispatcher import taken_result
from accord.agent.mcp.progress import Progress
from accord.agent.mcp.tools import OnProgress

__all__ = ["all_tools", "call_tool", "greet"]

_PAGES = 1000


async def greet(session: ClientSession) -> None:
    """Agree on a version, whichever way the server knows."""
    # The handshake first: servers older than `server/discover` may end at the sight of it, newer ones refuse politely.
    try:
        await session.initialize()
    except MCPError as refused:
        try:
            await session.discover()
        except MCPError:
            raise refused from None


async def all_tools(session: ClientSession) -> list[Tool]:
    """Page by page."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        tools += page.tools
        if not page.next_cursor or page.next_cursor == cursor:
            break
        cursor = page.next_cursor
    return tools


async def call_tool(
    session: ClientSession,
    name: str,
    arguments: dict[str, Any],
    on_progress: OnProgress | None,
    meta: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The result as it came. Cancelled, it tells the server to stop."""
    taken: list[dict[str, Any]] = []
    token = taken_result.set(taken)
    progress = Progress(on_progress) if on_progress is not None else None
    try:
        params = CallToolRequestParams.model_validate({"name": name, "arguments": arguments, "_meta": meta or None})
        request = CallToolRequest(params=params)
        await session.send_request(request, CallToolResult, progress_callback=progress)
    finally:
        taken_result.reset(token)
    if progress is not None:
        await progress.told()
    return taken[0]
