"""The requests of an agent to an MCP server: handshake, tool list, tool calls with progress; and their errors as text.

Results of `tools/call` are passed on unread, and each tool of a list is checked by itself: in the package `mcp` an unknown
kind of content would fail the whole call, and one invalid tool the whole list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from traceback import format_exception
from typing import Any, cast

import httpx2
from mcp import ClientSession, MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, PaginatedRequestParams, Tool
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from accord.agent.mcp.content import OnProgress
from accord.errors import ConnectionClosed, request_failed
from accord.local.redaction import redact

_MAX_PAGES = 1000


async def initialize(session: ClientSession) -> None:
    """Negotiate a version, in whichever way the server knows."""
    # `initialize` first: servers older than `server/discover` may exit when they get that, newer ones only refuse.
    try:
        await session.initialize()
    except MCPError as refused:
        try:
            await session.discover()
        except MCPError:
            raise refused from None


async def list_tools(session: ClientSession) -> list[Tool]:
    """All pages of the list."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
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
    """The result as it was received. When it is cancelled, the server is told to stop."""
    results: list[dict[str, Any]] = []
    token = raw_results.set(results)
    progress = Progress(on_progress) if on_progress is not None else None
    try:
        params = CallToolRequestParams.model_validate({"name": name, "arguments": arguments, "_meta": meta or None})
        request = CallToolRequest(params=params)
        await session.send_request(request, CallToolResult, progress_callback=progress)
    finally:
        raw_results.reset(token)
    if progress is not None:
        await progress.flush()
    return results[0]


raw_results: ContextVar[list[dict[str, Any]]] = ContextVar("raw_results")
"""Where a tool call finds its result as it was received."""


class Dispatcher(JSONRPCDispatcher[Any]):
    """`on_end` is called once, at the end of the stream; `on_invalid_tool` with the name of a tool that is dropped."""

    def __init__(
        self, read: Any, write: Any, *, on_end: Callable[[], None], on_invalid_tool: Callable[[str], None]
    ) -> None:
        super().__init__(read, write)
        self.version = LATEST_HANDSHAKE_VERSION
        self._on_end = on_end
        self._on_invalid_tool = on_invalid_tool

    async def run(self, *arguments: Any, **options: Any) -> None:
        try:
            await super().run(*arguments, **options)
        finally:
            self._on_end()

    async def send_raw_request(self, method: str, params: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        result = await super().send_raw_request(method, params, *arguments, **options)
        if method == "tools/call":
            raw_results.get().append(result)
            return {"content": [], "resultType": "complete"}
        if method == "tools/list" and isinstance(result.get("tools"), list):
            return {**result, "tools": [tool for tool in result["tools"] if self._is_valid(result, tool)]}
        return result

    def _is_valid(self, result: dict[str, Any], tool: Any) -> bool:
        try:
            validate_server_result("tools/list", self.version, {**result, "tools": [tool]})
        except ValidationError:
            name = cast("dict[str, Any]", tool).get("name") if isinstance(tool, dict) else None
            self._on_invalid_tool(str(name)[:100])
            return False
        return True


class Progress:
    """Calls the listener for one report after the other; `mcp` starts a task for each."""

    def __init__(self, listener: OnProgress) -> None:
        self._listener = listener
        self._lock = asyncio.Lock()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        async with self._lock:
            await self._listener(progress, total, message)

    async def flush(self) -> None:
        """Wait until the listener has got every report so far."""
        async with self._lock:
            pass


def reason_of(error: BaseException, url: str | None = None) -> str:
    """Why a server could not be connected or was lost: one clause, without secrets. Of several errors, the first."""
    if isinstance(error, BaseExceptionGroup):
        return reason_of(cast("BaseExceptionGroup[BaseException]", error).exceptions[0], url)
    return redact(_reason(error), url)


def traceback_of(error: BaseException, url: str | None) -> str:
    """A traceback for the log, without secrets."""
    return redact("".join(format_exception(error)), url)


def _reason(error: BaseException) -> str:
    match error:
        case ConnectionClosed():
            return error.reason
        case MCPError():
            failure = request_failed(error.code, error.message, error.data)
            return f"it refused: {failure.full_message()} (error {error.code})"
        case httpx2.HTTPStatusError():
            return f"HTTP status {error.response.status_code} {error.response.reason_phrase}".rstrip()
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return f"connection failed: {str(error) or type(error).__name__}"
        case httpx2.InvalidURL():
            return "invalid URL"  # the message of the library quotes parts of it
        case httpx2.HTTPError():
            return f"HTTP error: {type(error).__name__}: {error}".rstrip(": ")
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            path = ".".join(str(part) for part in first["loc"])
            return f"it does not speak MCP: {path}: {first['msg']}"
        case _:
            return str(error) or type(error).__name__
