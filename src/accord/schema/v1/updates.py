"""Session updates: everything the agent reports while a session is open."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.v1.content import ContentBlock
from accord.schema.v1.identifiers import CompactionId, MessageId, SessionId, SessionModeId
from accord.schema.v1.options import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.schema.v1.plans import Plan
from accord.schema.v1.tool_calls import ToolCall, ToolCallUpdateVariant
from accord.schema.wire_values import UNSET, Alias, Closed, Known, Lenient, LenientItems, UInt64, Wire, check_uint64

__all__ = [
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "Cost",
    "CurrentModeUpdate",
    "Notice",
    "NoticeSeverity",
    "SessionInfoUpdate",
    "SessionNotification",
    "SessionUpdate",
    "UsageUpdate",
    "UserMessageChunk",
]


class ContentChunk(Wire):
    """A piece of a message; pieces with one `message_id` belong together."""

    content: ContentBlock
    message_id: Lenient[MessageId] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Something the user said."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Something the agent says to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Something the agent thinks, not meant as its answer."""


class CurrentModeUpdate(Wire, tag_field="sessionUpdate", tag="current_mode_update"):
    """The session is in another mode now, whoever switched it."""

    current_mode_id: Annotated[SessionModeId, Alias("modeId")]


class SessionInfoUpdate(Wire, tag_field="sessionUpdate", tag="session_info_update"):
    """What changed in the session's description: a member left out stays, null clears it."""

    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class Cost(Wire):
    """What the session cost so far; the currency is an ISO 4217 code or another unit."""

    amount: float
    currency: str


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """Tokens in the context, out of the `size` it has room for."""

    used: UInt64
    size: UInt64
    cost: Lenient[Cost] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.used, self.size)


NoticeSeverity: TypeAlias = Annotated[str, Known("info", "warning", "error")]


class Notice(Wire, tag_field="sessionUpdate", tag="notice"):
    """A remark for whoever watches right now; not replayed, and only for clients with `session.notices`."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: Lenient[str] = UNSET


CompactionStatus: TypeAlias = Annotated[str, Known("in_progress", "completed", "failed", "cancelled")]


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The context is being shortened, or was; only for clients with `session.compaction`."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: LenientItems[ContentBlock] = UNSET
    error: Lenient[str] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """A piece of what takes the place of the shortened context; a later `summary` replaces all pieces."""

    compaction_id: CompactionId
    content: ContentBlock


SessionUpdate: TypeAlias = Closed[
    Union[
        UserMessageChunk,
        AgentMessageChunk,
        AgentThoughtChunk,
        ToolCall,
        ToolCallUpdateVariant,
        Plan,
        AvailableCommandsUpdate,
        CurrentModeUpdate,
        ConfigOptionUpdate,
        SessionInfoUpdate,
        UsageUpdate,
        Notice,
        CompactionUpdate,
        CompactionSummaryChunk,
    ]
]


class SessionNotification(Wire):
    """Params of `session/update`."""

    session_id: SessionId
    update: SessionUpdate
