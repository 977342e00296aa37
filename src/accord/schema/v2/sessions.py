"""Sessions of v2: opening, listing and closing them, their prompts, state and MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.all_versions import EnvVariable, HttpHeader, MessageId, SessionId, TerminalId, ToolCallId, Usage
from accord.schema.v2.content import AbsolutePath, ContentBlock
from accord.schema.v2.lifecycle import Error
from accord.schema.v2.options import AvailableCommand, SessionConfigOption
from accord.schema.wire_values import (
    REQUIRED,
    UNSET,
    DefaultedItems,
    DefaultTag,
    Items,
    Known,
    Lenient,
    MergedVariants,
    Nullable,
    NullIsEmpty,
    Open,
    OpenOne,
    Wire,
    variants,
)

__all__ = [
    "BackgroundTerminal",
    "BackgroundToolCall",
    "BackgroundWork",
    "CancelSessionNotification",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "McpServer",
    "McpServerHttp",
    "McpServerStdio",
    "NewSessionRequest",
    "NewSessionResponse",
    "PromptRequest",
    "PromptResponse",
    "ReplayFrom",
    "ReplayFromStart",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
    "SessionListCursor",
    "SessionState",
    "StateUpdate",
    "StopReason",
]

SessionState: TypeAlias = Annotated[str, Known("running", "idle", "requires_action")]
"""Handle an unknown state as busy."""

StopReason: TypeAlias = Annotated[
    str, Known("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error")
]


class PromptRequest(Wire):
    """Params of `session/prompt`: the user's message."""

    session_id: SessionId
    prompt: Annotated[list[ContentBlock], Meta(min_length=1)]


class PromptResponse(Wire):
    """Result of `session/prompt`: the message was accepted; the work begins after it."""

    message_id: MessageId


class CancelSessionNotification(Wire):
    """Params of `session/cancel`: stop the foreground work and drop the queued prompts."""

    session_id: SessionId


class BackgroundTerminal(Wire, tag_field="type", tag="terminal"):
    """A process that runs in the background."""

    terminal_id: TerminalId


class BackgroundToolCall(Wire, tag_field="type", tag="tool_call"):
    """A tool call that runs in the background."""

    tool_call_id: ToolCallId


BackgroundWork: TypeAlias = Open[Union[BackgroundTerminal, BackgroundToolCall]]


class _Idle(Wire):
    background: Lenient[list[BackgroundWork]] = UNSET


if TYPE_CHECKING:
    _State: TypeAlias = SessionState
    _StopReason: TypeAlias = StopReason
else:
    _State = variants(SessionState)
    _StopReason = variants(StopReason, unknown=_Idle)


class StateUpdate(MergedVariants, tag_field="sessionUpdate", tag="state_update"):
    """The state of the whole session, not of one prompt.

    `stop_reason` belongs to `idle`, `error` to the stop reason `error`. `background` is the complete list; agents without
    background work leave it out. `usage` is unstable, and belongs to `idle`.
    """

    state: _State
    stop_reason: Lenient[_StopReason] = UNSET
    error: Lenient[Error] = UNSET
    background: Lenient[list[BackgroundWork]] = UNSET
    usage: Lenient[Usage] = UNSET


SessionListCursor: TypeAlias = str
"""Opaque; the empty string is a valid cursor."""


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """An MCP server reached over HTTP; only for agents with `session.mcp.http`."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """An MCP server that the agent starts; only for agents with `session.mcp.stdio`."""

    name: str
    command: AbsolutePath
    args: NullIsEmpty[list[str]] = UNSET
    env: NullIsEmpty[list[EnvVariable]] = UNSET


McpServer: TypeAlias = Annotated[Open[Union[McpServerHttp, McpServerStdio]], DefaultTag("stdio")]


class NewSessionRequest(Wire):
    """Params of `session/new`: start a session in `cwd`."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class NewSessionResponse(Wire):
    """Result of `session/new`."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ReplayFromStart(Wire, tag_field="type", tag="start"):
    """Replay the whole stored history."""


ReplayFrom: TypeAlias = OpenOne[ReplayFromStart]
"""Where the replay begins; an unknown variant is an error, never a resume without replay."""


class ResumeSessionRequest(Wire):
    """Params of `session/resume`: open a stored session; without `replayFrom` its history is not replayed."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET
    replay_from: Nullable[ReplayFrom] = UNSET


class ResumeSessionResponse(Wire):
    """Result of `session/resume`; a state update before it says whether the session is busy."""

    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ForkSessionRequest(Wire):
    """Params of `session/fork`: start a new session with the history of another. Unstable."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class ForkSessionResponse(Wire):
    """Result of `session/fork`: the new session, which is open. Unstable."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ListSessionsRequest(Wire):
    """Params of `session/list`: the sessions of exactly this directory, or all; one page, from `cursor`."""

    cwd: Nullable[AbsolutePath] = UNSET
    cursor: Nullable[SessionListCursor] = UNSET


class SessionInfo(Wire):
    """The description of a session that need not be open."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """Result of `session/list`: one page; without `nextCursor` it is the last, without `sessions` it is empty."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Nullable[SessionListCursor] = UNSET
