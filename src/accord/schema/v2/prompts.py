"""Prompts, and the state of the work they cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.content import ContentBlock
from accord.schema.v2.identifiers import MessageId, SessionId, TerminalId, ToolCallId
from accord.schema.v2.lifecycle import Error
from accord.schema.values import UNSET, Known, Lenient, Open, UInt64, Whole, Wire, variants

__all__ = [
    "BackgroundTerminal",
    "BackgroundToolCall",
    "BackgroundWork",
    "CancelSessionNotification",
    "PromptRequest",
    "PromptResponse",
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
