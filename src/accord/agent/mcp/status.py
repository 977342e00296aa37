"""The status of each MCP server of a session, with the reason when it can't be used."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from accord.errors import InvalidParams
from accord.session.mcp_servers import HttpServer, McpServer, SseServer, StdioServer

log = logging.getLogger("accord.mcp")

Kind: TypeAlias = Literal["stdio", "http", "sse"]
State: TypeAlias = Literal["connecting", "connected", "failed", "skipped", "lost", "closed"]

KINDS: tuple[Kind, ...] = ("stdio", "http", "sse")


class ServerStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The status of one server; as a string, one line for the user.

    `failed`: it was never connected. `lost`: it was connected. `skipped`: of a kind that was not offered. `closed`: by us.
    `name` is the `server` of its tools. `notes` are oddities of a server that works nevertheless.
    """

    name: str
    kind: str
    state: State
    tools: int = 0
    reason: str = ""
    exit_code: int | None = None
    stderr_tail: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"MCP server {self.name!r} ({self.kind})"
        if self.state == "connected":
            text += f": connected with {self.tools} tool{'' if self.tools == 1 else 's'}"
        elif self.state == "failed":
            text += f": not connected: {self.reason}"
        else:
            text += f": {self.state}" + (f": {self.reason}" if self.reason else "")
        if self.exit_code is not None:
            text += f" (exit code {self.exit_code})"
        if self.state in ("failed", "lost") and (lines := self.stderr_tail.split("\n")):
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            text += f"; stderr: {last[:200]}" if last else ""
        return text + "".join(f"; {note}" for note in self.notes)

    @property
    def is_connected(self) -> bool:
        """Whether its tools can be called now."""
        return self.state == "connected"


def kind_of(server: McpServer) -> str:
    """`stdio`, `http`, `sse`, or the client's name of a kind that accord does not know."""
    match server:
        case StdioServer():
            return "stdio"
        case HttpServer():
            return "http"
        case SseServer():
            return "sse"
        case _:
            return server.tag


def name_of(server: McpServer) -> str:
    """The name that the client gave it, or else its kind."""
    if isinstance(server, StdioServer | HttpServer | SseServer):
        return server.name
    name = server.raw.get("name")
    return name if isinstance(name, str) and name else server.tag


def not_offered(servers: Sequence[McpServer], kinds: Collection[str]) -> InvalidParams | None:
    """The error for the first server whose kind was not offered, in versions that refuse it; others skip it."""
    for index, server in enumerate(servers):
        if kind_of(server) not in kinds:
            return InvalidParams("this agent does not support this MCP transport", field=f"mcpServers[{index}].type")
    return None


def skipped(server: McpServer, reason: str) -> ServerStatus:
    """The status of a server that is not connected on purpose."""
    return ServerStatus(name=name_of(server), kind=kind_of(server), state="skipped", reason=reason)


def failed(server: McpServer, reason: str) -> ServerStatus:
    """The status of a server that could not be connected."""
    return ServerStatus(name=name_of(server), kind=kind_of(server), state="failed", reason=reason)


def notify(status: ServerStatus, listener: Callable[[ServerStatus], None] | None) -> None:
    """Call the listener with a status; its errors are logged."""
    if listener is not None:
        try:
            listener(status)
        except Exception:
            log.exception("the listener for the status of MCP servers failed")


class Settings(NamedTuple):
    """`env` None: our environment. `on_change` is called with every status."""

    cwd: str
    env: Mapping[str, str] | None
    client_name: str
    client_version: str
    connect_deadline: float
    on_change: Callable[[ServerStatus], None] | None
