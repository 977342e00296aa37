"""A tool of an MCP server, and what a call of one brought."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from accord.session.content import Content

__all__ = ["McpResult", "McpTool", "OnProgress"]

OnProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Gets progress, total and message, one call at a time and the last one before the result."""


class McpTool(msgspec.Struct, kw_only=True, frozen=True):
    """A tool as its server describes it. `annotations` are hints that a server may well get wrong, or lie in."""

    server: str
    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = {}
    meta: dict[str, Any] | None = None


class McpResult(msgspec.Struct, kw_only=True, frozen=True):
    """What a tool brought. `is_error` is the tool's own word for having failed; `content` then says why."""

    content: list[Content] = []
    structured: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
