"""Sessions of v1: opening, listing and ending them, their prompts, and the MCP servers they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from accord.schema.v1.content import ContentBlock
from accord.schema.v1.identifiers import SessionId
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
    Nullable,
    NullIsEmpty,
    UInt64,
    Whole,
    Wire,
    variants,
)

__all__ = [
    "CancelNotification",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "EnvVariable",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "HttpHeader",
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
    "Usage",
]


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


StopReason: TypeAlias = Annotated[
    str, Known("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", closed=True)
]


class PromptRequest(Wire):
    """Params of `session/prompt`: what the user says, in kinds of content that the agent advertised."""

    session_id: SessionId
    prompt: list[ContentBlock]


class Usage(Wire):
    """The tokens that a prompt took. Unstable."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[UInt64] = UNSET
    cached_read_tokens: Lenient[UInt64] = UNSET
    cached_write_tokens: Lenient[UInt64] = UNSET


class PromptResponse(Wire):
    """Result of `session/prompt`: the turn is over, and all its updates were sent before. `usage` is unstable."""

    stop_reason: StopReason
    usage: Lenient[Usage] = UNSET


class CancelNotification(Wire):
    """Params of `session/cancel`: end the running turn, whose answer then says "cancelled"."""

    session_id: SessionId


class NewSessionRequest(Wire):
    """Params of `session/new`; `mcp_servers` is always written, and may be missing when read."""

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
    """Params of `session/load`: open a stored session and tell its whole history again before answering."""

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
    """Params of `session/resume`: open a stored session without telling its history."""

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
    """Params of `session/fork`: a new session that starts with what the given one knows. Unstable."""

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
    """Params of `session/list`; a `cursor` comes from the page before and means nothing else."""

    cwd: Nullable[str] = UNSET
    cursor: Nullable[str] = UNSET


class SessionInfo(Wire):
    """What is known of a session without opening it."""

    session_id: SessionId
    cwd: str
    additional_directories: DefaultedItems[str] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """Result of `session/list`: one page, the last one if it has no `next_cursor`; without `sessions` an empty one."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Lenient[str] = UNSET


class CloseSessionRequest(Wire):
    """Params of `session/close`: end the running turn and free what the session holds; it stays stored."""

    session_id: SessionId


class CloseSessionResponse(Wire):
    """Result of `session/close`."""


class DeleteSessionRequest(Wire):
    """Params of `session/delete`: the session is no longer listed."""

    session_id: SessionId


class DeleteSessionResponse(Wire):
    """Result of `session/delete`."""
