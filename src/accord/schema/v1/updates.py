"""Session updates of v1: everything that the agent reports by `session/update`."""

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
from accord.schema.v1.content import ContentBlock
from accord.schema.v1.options import AvailableCommandsUpdate, ConfigOptionUpdate, SessionModeId
from accord.schema.v1.tool_calls import ToolCall, ToolCallUpdateVariant
from accord.schema.wire_values import UNSET, Alias, Closed, Items, Known, Lenient, LenientItems, Wire

__all__ = [
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "CurrentModeUpdate",
    "Plan",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "SessionNotification",
    "SessionUpdate",
    "UserMessageChunk",
]


class ContentChunk(Wire):
    """A part of a message; chunks with the same `message_id` belong to one message."""

    content: ContentBlock
    message_id: Lenient[MessageId] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A chunk of a message of the user."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A chunk of a message of the agent."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A chunk of a thought of the agent, which is not part of its answer."""


class CurrentModeUpdate(Wire, tag_field="sessionUpdate", tag="current_mode_update"):
    """The current mode of the session has changed, by either side."""

    current_mode_id: Annotated[SessionModeId, Alias("modeId")]


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The state of a compaction of the context; only for clients with `session.compaction`."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: LenientItems[ContentBlock] = UNSET
    error: Lenient[str] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """A chunk of the summary that replaces the context; a later `summary` replaces all chunks."""

    compaction_id: CompactionId
    content: ContentBlock


PlanEntryPriority: TypeAlias = Annotated[str, Known("high", "medium", "low", closed=True)]
PlanEntryStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", closed=True)]


class PlanEntry(Wire):
    """One step; it has no id, only its position in the list."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(Wire, tag_field="sessionUpdate", tag="plan"):
    """The complete plan, which replaces the last one."""

    entries: Items[PlanEntry]


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
