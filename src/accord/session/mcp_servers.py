"""MCP servers that a client asks an agent to connect to, with their headers and variables.

Variables and headers are any mapping; one with several values of a name is a `Pairs`.

A mapping says the same, unless a name comes twice or a value has a `meta` of its own. `Pairs` is a mapping that says
that, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from accord.session.value import Unknown, Value


class StdioServer(Value, tag_field="type", tag="stdio"):
    """A server to start as a child process."""

    name: str
    command: str
    args: list[str] = []
    env: Mapping[str, str] = {}


class HttpServer(Value, tag_field="type", tag="http"):
    """A server to reach over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


class SseServer(Value, tag_field="type", tag="sse"):
    """A server to reach over the older HTTP+SSE transport, which v2 no longer has."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


McpServer: TypeAlias = StdioServer | HttpServer | SseServer | Unknown


class Pair(Value):
    """A name and its value."""

    name: str
    value: str


class Pairs(dict[str, str]):
    """A mapping in which the last value of a name counts, and all of them are kept. It is not to be changed."""

    __slots__ = ("all",)

    def __init__(self, pairs: Iterable[Pair | tuple[str, str]]) -> None:
        self.all = [pair if isinstance(pair, Pair) else Pair(*pair) for pair in pairs]
        """Also those that do not count."""
        super().__init__((pair.name, pair.value) for pair in self.all)

    def __eq__(self, other: object) -> bool:
        return self.all == pairs_in(cast("dict[str, str]", other)) if isinstance(other, dict) else NotImplemented

    def __ne__(self, other: object) -> bool:  # dict has one of its own
        return not self == other

    __hash__ = None  # as dict

    def __repr__(self) -> str:
        return f"Pairs({self.all!r})"


def pairs_in(values: Mapping[str, str]) -> list[Pair]:
    """All names and values, in order."""
    if isinstance(values, Pairs):
        return values.all
    return [Pair(name, value) for name, value in values.items()]
