"""`session/update`: everything an agent reports, in the order in which it counts."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.content import ContentBlock
from accord.schema.v2.identifiers import CompactionId, MessageId, SessionId
from accord.schema.v2.options import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.schema.v2.plans import PlanUpdate
from accord.schema.v2.sessions import StateUpdate
from accord.schema.v2.terminals import TerminalOutputChunk, TerminalUpdate
from accord.schema.v2.tool_calls import ToolCallContentChunk, ToolCallUpdateVariant
from accord.schema.wire_values import UNSET, Known, Lenient, LenientItems, Open, UInt64, Wire, check_uint64

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "Cost",
    "Notice",
    "NoticeSeverity",
    "SessionInfoUpdate",
    "SessionUpdate",
    "UpdateSessionNotification",
    "UsageUpdate",
    "UserMessage",
    "UserMessageChunk",
]

CompactionStatus: TypeAlias = Annotated[str, Known("in_progress", "completed", "failed", "cancelled")]
NoticeSeverity: TypeAlias = Annotated[str, Known("info", "warning", "error")]


class UserMessage(Wire, tag_field="sessionUpdate", tag="user_message"):
    """A message of the user: `content` left out stays, null clears, an array replaces all, chunks included."""

    message_id: MessageId
    content: LenientItems[ContentBlock] = UNSET


class AgentMessage(Wire, tag_field="sessionUpdate", tag="agent_message"):
    """A message of the agent; members as in `UserMessage`."""

    message_id: MessageId
    content: LenientItems[ContentBlock] = UNSET


class AgentThought(Wire, tag_field="sessionUpdate", tag="agent_thought"):
    """A thought of the agent; members as in `UserMessage`."""

    message_id: MessageId
    content: LenientItems[ContentBlock] = UNSET


class ContentChunk(Wire):
    """One block more for a message, which is new if its id is."""

    message_id: MessageId
    content: ContentBlock


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A `ContentChunk` of a message of the user."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A `ContentChunk` of a message of the agent."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A `ContentChunk` of a thought of the agent."""


class SessionInfoUpdate(Wire, tag_field="sessionUpdate", tag="session_info_update"):
    """Other words about the session: a member left out stays, null clears."""

    title: Lenient[str] = UNSET
    updated_at: Lenient[str] = UNSET


class Cost(Wire):
    """What the session has cost so far, in a currency or any other unit."""

    amount: float
    currency: str


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """Tokens in the context and room for them; `cost` left out stays, null clears."""

    used: UInt64
    size: UInt64
    cost: Lenient[Cost] = UNSET

    def __post_init__(self) -> None:
        check_uint64(self.used, self.size)


class Notice(Wire, tag_field="sessionUpdate", tag="notice"):
    """Something to show now; not part of the conversation and never replayed."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: Lenient[str] = UNSET


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The context is being shortened: a member left out stays, null clears, a value replaces."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: LenientItems[ContentBlock] = UNSET
    error: Lenient[str] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """One block more for the summary of a compaction."""

    compaction_id: CompactionId
    content: ContentBlock


SessionUpdate: TypeAlias = Open[
    Union[
        UserMessageChunk,
        UserMessage,
        AgentMessageChunk,
        AgentMessage,
        AgentThoughtChunk,
        AgentThought,
        StateUpdate,
        ToolCallContentChunk,
        ToolCallUpdateVariant,
        TerminalUpdate,
        TerminalOutputChunk,
        PlanUpdate,
        AvailableCommandsUpdate,
        ConfigOptionUpdate,
        SessionInfoUpdate,
        UsageUpdate,
        Notice,
        CompactionUpdate,
        CompactionSummaryChunk,
    ]
]


class UpdateSessionNotification(Wire):
    """Something happened in a session."""

    session_id: SessionId
    update: SessionUpdate
