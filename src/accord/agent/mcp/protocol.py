"""The MCP requests of an agent: handshake, tool list, tool calls and their progress.

A content block of a kind that a later MCP adds would fail the whole call there, and one bad tool the whole list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, cast

from mcp import ClientSession, MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    PaginatedRequestParams,
    Tool,
)
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from accord.agent.mcp.content import OnProgress

__all__ = ["Dispatcher", "Progress", "all_tools", "call_tool", "greet", "taken_result"]

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


taken_result: ContextVar[list[dict[str, Any]]] = ContextVar("taken_result")
"""Where a call of a tool finds the result as it came."""


class Dispatcher(JSONRPCDispatcher[Any]):
    """`on_end` is called once, when nothing more can arrive; `on_left_out` with the name of a malformed tool."""

    def __init__(
        self, read: Any, write: Any, *, on_end: Callable[[], None], on_left_out: Callable[[str], None]
    ) -> None:
        super().__init__(read, write)
        self.version = LATEST_HANDSHAKE_VERSION
        self._on_end = on_end
        self._on_left_out = on_left_out

    async def run(self, *arguments: Any, **options: Any) -> None:
        try:
            await super().run(*arguments, **options)
        finally:
            self._on_end()

    async def send_raw_request(self, method: str, params: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        result = await super().send_raw_request(method, params, *arguments, **options)
        if method == "tools/call":
            taken_result.get().append(result)
            return {"content": [], "resultType": "complete"}
        if method == "tools/list" and isinstance(result.get("tools"), list):
            return {**result, "tools": [tool for tool in result["tools"] if self._is_tool(result, tool)]}
        return result

    def _is_tool(self, result: dict[str, Any], tool: Any) -> bool:
        try:
            validate_server_result("tools/list", self.version, {**result, "tools": [tool]})
        except ValidationError:
            name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
            self._on_left_out(str(name)[:100])
            return False
        return True


class Progress:
    """`mcp` starts a task for each report; here they line up."""

    def __init__(self, listener: OnProgress) -> None:
        self._listener = listener
        self._turn = asyncio.Lock()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        async with self._turn:
            await self._listener(progress, total, message)

    async def told(self) -> None:
        """Returns when everything that has arrived was told."""
        async with self._turn:
            pass
