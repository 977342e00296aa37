"""Sessions of v1: opening, listing and closing them, their prompts and MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from accord.schema.all_versions import EnvVariable, HttpHeader, SessionId, Usage
from accord.schema.v1.content import ContentBlock
from accord.schema.v1.options import SessionConfigOption, SessionModeState
from accord.schema.wire_values import (
    DEFAULT_ON_NULL,
    REQUIRED,
    UNSET,
    Closed,
    Defaulted,
    DefaultedItems,
    Items,
    Known,
    Lenient,
    LenientItems,
    MergedVariants,
    Nullable,
    NullIsEmpty,
    Wire,
    variants,
)

__all__ = [
    "CancelNotification",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "McpServer",
    "McpServerKind",
    "NewSessionRequest",
    "NewSessionResponse",
    "PromptRequest",
    "PromptResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
    "StopReason",
]


McpServerKind: TypeAlias = Annotated[str, Known("http", "sse", closed=True)]

if TYPE_CHECKING:
    _Kind: TypeAlias = McpServerKind
else:
    _Kind = variants(McpServerKind, also=("stdio",))  # AMB-45


class McpServer(MergedVariants):
    """How to reach one server: by `url` for the types "http" and "sse", by starting `command` without a `type`.

    Missing lists that its type requires become empty lists. A server of another type is kept, so that the agent can
    report that it skipped the server.
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
        """The first member that is missing by the rules of strict mode."""
        needed = ("url", "headers") if members.get("type") in ("http", "sse") else ("command", "args", "env")
        return next((key for key in needed if key not in members), None)


StopReason: TypeAlias = Annotated[
    str, Known("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", closed=True)
]


class PromptRequest(Wire):
    """Params of `session/prompt`: the user's message, with the kinds of content that the agent supports."""

    session_id: SessionId
    prompt: list[ContentBlock]


class PromptResponse(Wire):
    """Result of `session/prompt`: the turn has ended and all its updates were sent before. `usage` is unstable."""

    stop_reason: StopReason
    usage: Lenient[Usage] = UNSET


class CancelNotification(Wire):
    """Params of `session/cancel`: end the running turn, whose `stopReason` is then "cancelled"."""

    session_id: SessionId


class NewSessionRequest(Wire):
    """Params of `session/new`; `mcp_servers` is always written, but accepted when missing."""

    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: Annotated[list[Closed[McpServer]], DEFAULT_ON_NULL, REQUIRED] = []  # AMB-42


class NewSessionResponse(Wire):
    """Result of `session/new`. `models` is unstable and taken as it comes."""

    session_id: SessionId
    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET  # AMB-06


class LoadSessionRequest(Wire):
    """Params of `session/load`: open a stored session and replay its history before the response."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: Annotated[list[Closed[McpServer]], DEFAULT_ON_NULL, REQUIRED] = []  # AMB-42


class LoadSessionResponse(Wire):
    """Result of `session/load`, sent after the last replayed update."""

    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ResumeSessionRequest(Wire):
    """Params of `session/resume`: open a stored session without a replay of its history."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: NullIsEmpty[list[Closed[McpServer]]] = UNSET


class ResumeSessionResponse(Wire):
    """Result of `session/resume`."""

    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ForkSessionRequest(Wire):
    """Params of `session/fork`: start a new session with the history of another. Unstable."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = UNSET
    mcp_servers: NullIsEmpty[list[Closed[McpServer]]] = UNSET


class ForkSessionResponse(Wire):
    """Result of `session/fork`, with the id of the new session. Unstable."""

    session_id: SessionId
    modes: Lenient[SessionModeState] = UNSET
    config_options: LenientItems[SessionConfigOption] = UNSET
    models: Lenient[Any] = UNSET


class ListSessionsRequest(Wire):
    """Params of `session/list`; `cursor` is the opaque `next_cursor` of the previous page."""

    cwd: Nullable[str] = UNSET
    cursor: Nullable[str] = UNSET


class SessionInfo(Wire):
    """The description of a session that need not be open."""

    session_id: SessionId
    cwd: str
    additional_directories: DefaultedItems[str] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """Result of `session/list`: one page; without `next_cursor` it is the last, without `sessions` it is empty."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Lenient[str] = UNSET
