"""mcp's dispatcher, with the results of tool calls kept from its models: they drop what they do not know.

A content block of a kind that a later MCP adds would fail the whole call there, and one bad tool the whole list.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, cast

from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

__all__ = ["Dispatcher", "taken_result"]

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
