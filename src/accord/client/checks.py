"""What must not be sent to an agent that did not offer to take it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from accord.dialects.paths import is_absolute
from accord.errors import InvalidParams, MethodNotFound
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Audio, Content, Image, Resource
from accord.session.servers import HttpServer, McpServer, SseServer, StdioServer

__all__ = [
    "absolute_path",
    "check_content",
    "check_directories",
    "check_offered",
    "check_servers",
    "server_type",
    "takes_server",
]


def absolute_path(path: str | os.PathLike[str]) -> str:
    """The path as the protocol wants it; one that is absolute on some other system stays as it is (SESS-19)."""
    text = os.fspath(path)
    return text if is_absolute(text) else str(Path(text).absolute())


def check_offered(offered: bool, method: str) -> None:
    """MethodNotFound, as the agent would answer, for what it does not have (SESS-10)."""
    if not offered:
        raise MethodNotFound(method)


def check_content(blocks: Iterable[Content], can: AgentCapabilities) -> None:
    """Text and links are always taken, anything else when it was offered (PROMPT-05)."""
    taken: dict[type[Content], bool] = {Image: can.image, Audio: can.audio, Resource: can.embedded_context}
    for index, block in enumerate(blocks):
        if not taken.get(type(block), True):
            kind = type(block).__name__.lower()
            raise InvalidParams(f"the agent takes no content of type {kind}", field=f"prompt[{index}]")


def takes_server(server: McpServer, can: AgentCapabilities) -> bool:
    """Of a type that we don't know, only the agent can tell."""
    taken: dict[type[McpServer], bool] = {StdioServer: can.mcp_stdio, HttpServer: can.mcp_http, SseServer: can.mcp_sse}
    return taken.get(type(server), True)


def check_servers(servers: Sequence[McpServer], can: AgentCapabilities) -> None:
    """An agent is only told of MCP servers that it can connect to (SESS-34, SESS-39)."""
    for index, server in enumerate(servers):
        if not takes_server(server, can):
            raise InvalidParams(
                f"the agent does not connect to MCP servers of type {server_type(server)}",
                field=f"mcpServers[{index}].type",
            )


def server_type(server: McpServer) -> str:
    """As the protocol calls it."""
    return str(type(server).__struct_config__.tag)


def check_directories(directories: Sequence[str], can: AgentCapabilities) -> None:
    """A session never starts with fewer roots than were asked for."""
    if directories and not can.additional_directories:
        raise InvalidParams("the agent takes no further directories", field="additionalDirectories")
