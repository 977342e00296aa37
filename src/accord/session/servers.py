"""MCP servers that a client asks an agent to connect to.

Variables and headers are any mapping; one with several values of a name is a `Pairs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from accord.session.word import Unknown, Word

__all__ = ["HttpServer", "McpServer", "SseServer", "StdioServer"]


class StdioServer(Word, tag_field="type", tag="stdio"):
    """A server to start as a child process."""

    name: str
    command: str
    args: list[str] = []
    env: Mapping[str, str] = {}


class HttpServer(Word, tag_field="type", tag="http"):
    """A server to reach over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


class SseServer(Word, tag_field="type", tag="sse"):
    """A server to reach over the older HTTP+SSE transport, which v2 no longer has."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


McpServer: TypeAlias = StdioServer | HttpServer | SseServer | Unknown
