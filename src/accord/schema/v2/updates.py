"""Session updates of v2: everything that the agent reports by `session/update`."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from accord.schema.all_versions import (
    CompactionId,
    CompactionStatus,
    MessageId,
    Notice,
    SessionId,
    SessionInfoUpdate,
    UsageUpdate,
)
from accord.schema.v2.content import ContentBlock
from accord.schema.v2.options import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.schema.v2.sessions import StateUpdate
from accord.schema.v2.terminals import TerminalOutputChunk, TerminalUpdate
from accord.schema.v2.tool_calls import ToolCallContentChunk, ToolCallUpdateVariant
from accord.schema.wire_values import (
    UNSET,
    Alias,
    Known,
    Lenient,
    LenientItems,
    Open,
    OpenOne,
    UnknownVariant,
    ValidItems,
    Wire,
)

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanId",
    "PlanItems",
    "PlanUpdate",
    "PlanUpdateContent",
    "SessionUpdate",
    "UpdateSessionNotification",
    "UserMessage",
    "UserMessageChunk",
]


class UserMessage(Wire, tag_field="sessionUpdate", tag="user_message"):
    """A message of the user: missing `content` is unchanged, null clears it, an array replaces it and all chunks."""

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
    """Appends a block to a message; an unknown id begins a new message."""

    message_id: MessageId
    content: ContentBlock


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A `ContentChunk` of a message of the user."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A `ContentChunk` of a message of the agent."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A `ContentChunk` of a thought of the agent."""


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The state of a compaction of the context: a missing member is unchanged, null clears it, a value replaces it."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: LenientItems[ContentBlock] = UNSET
    error: Lenient[str] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """Appends a block to the summary of a compaction."""

    compaction_id: CompactionId
    content: ContentBlock


PlanId: TypeAlias = str
PlanEntryPriority: TypeAlias = Annotated[str, Known("high", "medium", "low")]
PlanEntryStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", "cancelled")]


class PlanEntry(Wire):
    """One step."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class PlanItems(Wire, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    plan_id: Annotated[PlanId, Alias("id")]
    entries: ValidItems[PlanEntry]


class _OtherPlan(Wire):
    plan_id: PlanId


PlanUpdateContent: TypeAlias = Annotated[OpenOne[PlanItems], UnknownVariant(_OtherPlan)]
"""An unknown kind of plan has a `planId` too, and replaces the plan with that id."""


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """One complete plan, which replaces the one with the same id."""

    plan: PlanUpdateContent


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
    """Params of `session/update`."""

    session_id: SessionId
    update: SessionUpdate
