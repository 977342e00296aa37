"""Session updates of the v2 draft: the variants of v1, of the draft, and of v2 in case a peer sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Union

from accord.schema import v1, v2
from accord.schema.v2_draft.options import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.schema.v2_draft.spellings import EITHER, Spelled, spelled
from accord.schema.v2_draft.tool_calls import ToolCall, ToolCallContentChunk, ToolCallUpdateVariant
from accord.schema.wire_values import (
    DEFAULT_ON_ERROR,
    SKIP_INVALID_ITEMS,
    UNSET,
    DefaultTag,
    Lenient,
    Open,
    OpenOne,
    UnsetType,
    ValidItems,
    Wire,
)

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "ContentChunk",
    "Message",
    "PlanItems",
    "PlanUpdate",
    "PlanUpdateContent",
    "SessionNotification",
    "SessionUpdate",
    "UserMessage",
    "UserMessageChunk",
]

T = TypeVar("T")

if TYPE_CHECKING:
    OneOrMore: TypeAlias = Union[list[T], None, UnsetType]
else:
    OneOrMore = Annotated[Union[list[T], T, None, UnsetType], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]


class Message(Wire):
    """Missing `content` is unchanged, null clears it, an array replaces it; a single block is read as an array (AMB-69)."""

    message_id: v2.MessageId
    content: OneOrMore[v2.ContentBlock] = UNSET

    def __post_init__(self) -> None:
        content: Any = self.content
        if content and not isinstance(content, list):
            self.content = [content]


class UserMessage(Message, tag_field="sessionUpdate", tag="user_message"):
    """A `Message` of the user."""


class AgentMessage(Message, tag_field="sessionUpdate", tag="agent_message"):
    """A `Message` of the agent."""


class AgentThought(Message, tag_field="sessionUpdate", tag="agent_thought"):
    """A `Message` that is a thought of the agent."""


class ContentChunk(Wire):
    """Appends to a message: without an id to the newest of its kind (AMB-51); an array is several chunks (AMB-69)."""

    content: Union[v2.ContentBlock, list[v2.ContentBlock]]
    message_id: Lenient[v2.MessageId] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A `ContentChunk` of a message of the user."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A `ContentChunk` of a message of the agent."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A `ContentChunk` of a thought of the agent."""


class PlanItems(Wire, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    entries: ValidItems[v2.PlanEntry]
    plan_id: Spelled[v2.PlanId] = EITHER
    id: Spelled[v2.PlanId] = EITHER

    def __post_init__(self) -> None:
        self.plan_id = self.id = spelled("planId", self.plan_id, self.id)


PlanUpdateContent: TypeAlias = Annotated[OpenOne[PlanItems], DefaultTag("items")]


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
        ToolCall,
        ToolCallUpdateVariant,
        ToolCallContentChunk,
        v1.Plan,
        PlanUpdate,
        AvailableCommandsUpdate,
        v1.CurrentModeUpdate,
        ConfigOptionUpdate,
        v2.SessionInfoUpdate,
        v2.UsageUpdate,
        v2.Notice,
        v2.CompactionUpdate,
        v2.CompactionSummaryChunk,
        v2.StateUpdate,
        v2.TerminalUpdate,
        v2.TerminalOutputChunk,
    ]
]


class SessionNotification(Wire):
    """Params of `session/update`."""

    session_id: v2.SessionId
    update: SessionUpdate
