"""Converts MCP servers, and the environment variables and headers that other types have too.

In session types these are a mapping. On the wire they are a list of names and values, or a mapping in v1's logins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.session.mcp_servers import HttpServer, Pair, Pairs, SseServer, StdioServer, pairs_in
from accord.session.paths import is_relative

Remote = TypeVar("Remote", HttpServer, SseServer)


def stdio_server_from_wire(server: Any, field: str) -> StdioServer:
    """InvalidParams for a relative path (SESS-26). A bare name is tried (AMB-46)."""
    if is_relative(server.command):
        raise InvalidParams("must be an absolute path", field=f"{field}.command")
    return StdioServer(
        name=server.name,
        command=server.command,
        args=list_or_empty(server.args),
        env=pairs_from_wire(server.env),
        meta=none_if_unset(server.meta),
    )


def remote_server_from_wire(server_type: type[Remote], server: Any) -> Remote:
    return server_type(
        name=server.name, url=server.url, headers=pairs_from_wire(server.headers), meta=none_if_unset(server.meta)
    )


def pairs_to_wire(wire_type: type[Any], values: Mapping[str, str]) -> list[Any]:
    """The values, each as an object of this type."""
    return [wire_type(name=pair.name, value=pair.value, meta=unset_if_none(pair.meta)) for pair in pairs_in(values)]


def pairs_from_wire(pairs: Any) -> Mapping[str, str]:
    """The values by name; of two with the same name both are kept."""
    if isinstance(pairs, dict):
        return cast("dict[str, str]", pairs)
    read = [Pair(pair.name, pair.value, meta=none_if_unset(pair.meta)) for pair in list_or_empty(pairs)]
    by_name = {pair.name: pair.value for pair in read}
    has_no_more = len(by_name) == len(read) and all(pair.meta is None for pair in read)
    return by_name if has_no_more else Pairs(read)
