"""MCP servers the agent is to connect to for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from accord.schema.values import UNSET, Defaulted, Known, NullIsEmpty, Whole, Wire, variants

__all__ = ["EnvVariable", "HttpHeader", "McpServer", "McpServerKind"]


class EnvVariable(Wire):
    """A variable for the environment of a process to be started."""

    name: str
    value: str


class HttpHeader(Wire):
    """A header to send with every request to the server."""

    name: str
    value: str


McpServerKind: TypeAlias = Annotated[str, Known("http", "sse", closed=True)]

if TYPE_CHECKING:
    _Kind: TypeAlias = McpServerKind
else:
    _Kind = variants(McpServerKind, also=("stdio",))  # AMB-45


class McpServer(Whole):
    """How to reach one server: by `url` for the types "http" and "sse", by starting `command` when there is no `type`.

    Lists that its kind must have are filled in with empty ones. A server of another type is kept, so that whoever
    opens the session can say that it was skipped.
    """

    name: str
    type: Defaulted[_Kind] = UNSET
    command: Defaulted[str] = UNSET
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET
    url: Defaulted[str] = UNSET
    headers: NullIsEmpty[list[HttpHeader]] = UNSET

    def __post_init__(self) -> None:
        if self.type in ("http", "sse"):
            if self.url is UNSET:
                raise ValueError(f"an MCP server of type {self.type} needs `url`")
            if self.headers is UNSET:
                self.headers = []
        elif self.command is not UNSET:  # AMB-41
            if self.args is UNSET:
                self.args = []
            if self.env is UNSET:
                self.env = []
        elif self.type is UNSET or self.type == "stdio":  # AMB-45
            raise ValueError("an MCP server without `type` needs `command`")

    @staticmethod
    def missing(members: dict[str, Any]) -> str | None:
        """What an object that is to be read strictly must have and has not."""
        needed = ("url", "headers") if members.get("type") in ("http", "sse") else ("command", "args", "env")
        return next((key for key in needed if key not in members), None)
