"""The MCP servers that a client asks an agent to connect to."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from accord.schema.v2.identifiers import AbsolutePath
from accord.schema.wire_values import UNSET, DefaultTag, NullIsEmpty, Open, Wire

__all__ = ["EnvVariable", "HttpHeader", "McpServer", "McpServerHttp", "McpServerStdio"]


class EnvVariable(Wire):
    """One variable of a process's environment."""

    name: str
    value: str


class HttpHeader(Wire):
    """One header, sent with every request to the server."""

    name: str
    value: str


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """A server reached over HTTP; only for agents that advertise `session.mcp.http`."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """A server that the agent starts; only for agents that advertise `session.mcp.stdio`."""

    name: str
    command: AbsolutePath
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET


McpServer: TypeAlias = Annotated[Open[Union[McpServerHttp, McpServerStdio]], DefaultTag("stdio")]
