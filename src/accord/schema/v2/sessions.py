"""Sessions of v2, their prompts, and the state of the work that a prompt causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.content import ContentBlock
from accord.schema.v2.identifiers import AbsolutePath, MessageId, OpenOne, SessionId, TerminalId, ToolCallId
from accord.schema.v2.lifecycle import Error
from accord.schema.v2.mcp_servers import McpServer
from accord.schema.v2.options import AvailableCommand, SessionConfigOption
from accord.schema.wire_values import (
    REQUIRED,
    UNSET,
    DefaultedItems,
    Items,
    Known,
    Lenient,
    Nullable,
    NullIsEmpty,
    Open,
    UInt64,
    Whole,
    Wire,
    variants,
)

__all__ = [
    "BackgroundTerminal",
    "BackgroundToolCall",
    "BackgroundWork",
    "CancelSessionNotification",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
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
    "Usage",
]

SessionState: TypeAlias = Annotated[str, Known("running", "idle", "requires_action")]
"""An unknown state counts as busy."""

StopReason: TypeAlias = Annotated[
    str, Known("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error")
]


class PromptRequest(Wire):
    """What the user says."""

    session_id: SessionId
    prompt: Annotated[list[ContentBlock], Meta(min_length=1)]


class PromptResponse(Wire):
    """The message has its place in the conversation; the work is only beginning."""

    message_id: MessageId


class CancelSessionNotification(Wire):
    """Stop the work in the foreground and drop the prompts that wait."""

    session_id: SessionId


class BackgroundTerminal(Wire, tag_field="type", tag="terminal"):
    """A process that runs on beside the conversation."""

    terminal_id: TerminalId


class BackgroundToolCall(Wire, tag_field="type", tag="tool_call"):
    """A tool call that runs on beside the conversation."""

    tool_call_id: ToolCallId


BackgroundWork: TypeAlias = Open[Union[BackgroundTerminal, BackgroundToolCall]]


class Usage(Wire):
    """The tokens that a prompt took. Unstable."""

    total_tokens: UInt64
    input_tokens: UInt64
    output_tokens: UInt64
    thought_tokens: Lenient[UInt64] = UNSET
    cached_read_tokens: Lenient[UInt64] = UNSET
    cached_write_tokens: Lenient[UInt64] = UNSET


class _Idle(Wire):
    background: Lenient[list[BackgroundWork]] = UNSET


if TYPE_CHECKING:
    _State: TypeAlias = SessionState
    _StopReason: TypeAlias = StopReason
else:
    _State = variants(SessionState)
    _StopReason = variants(StopReason, others=_Idle)


class StateUpdate(Whole, tag_field="sessionUpdate", tag="state_update"):
    """The state of the whole session, not of one prompt.

    `stop_reason` belongs to `idle`, `error` to the stop reason `error`. `background` is the complete list, or left out
    by agents that keep none. `usage` is unstable, and belongs to `idle`.
    """

    state: _State
    stop_reason: Lenient[_StopReason] = UNSET
    error: Lenient[Error] = UNSET
    background: Lenient[list[BackgroundWork]] = UNSET
    usage: Lenient[Usage] = UNSET


SessionListCursor: TypeAlias = str
"""Opaque; the empty string is a cursor like any other."""


class NewSessionRequest(Wire):
    """Start a session in `cwd`."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class NewSessionResponse(Wire):
    """The session is there, with its options and commands as they are at the start."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ReplayFromStart(Wire, tag_field="type", tag="start"):
    """Everything that is kept."""


ReplayFrom: TypeAlias = OpenOne[ReplayFromStart]
"""Where to begin telling what happened; a beginning the agent does not know is an error, never a resume without."""


class ResumeSessionRequest(Wire):
    """Go on with a session; it is told again only from `replayFrom`."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET
    replay_from: Nullable[ReplayFrom] = UNSET


class ResumeSessionResponse(Wire):
    """The session is active; whether it works or rests was said by a state update before this."""

    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ForkSessionRequest(Wire):
    """Start a second session with the history of the first; unstable."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    mcp_servers: NullIsEmpty[list[McpServer]] = UNSET


class ForkSessionResponse(Wire):
    """The new session, active at once; unstable."""

    session_id: SessionId
    config_options: DefaultedItems[SessionConfigOption] = UNSET
    available_commands: DefaultedItems[AvailableCommand] = UNSET


class ListSessionsRequest(Wire):
    """The sessions of exactly this directory, or all; one page, from `cursor`."""

    cwd: Nullable[AbsolutePath] = UNSET
    cursor: Nullable[SessionListCursor] = UNSET


class SessionInfo(Wire):
    """A session as lists show it."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = UNSET
    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class ListSessionsResponse(Wire):
    """A page of sessions; without `nextCursor` it is the last, without `sessions` an empty one."""

    sessions: Annotated[Items[SessionInfo], REQUIRED] = []  # FN-103
    next_cursor: Nullable[SessionListCursor] = UNSET


class CloseSessionRequest(Wire):
    """Stop all work of a session and free what it holds."""

    session_id: SessionId


class CloseSessionResponse(Wire):
    """Nothing more comes from the session on this connection."""


class DeleteSessionRequest(Wire):
    """Take a session off the list."""

    session_id: SessionId


class DeleteSessionResponse(Wire):
    """The session is not listed any more, or never was."""
