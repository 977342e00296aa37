"""`session/update`: v1's variants, the draft's, and those of v2 that a peer might send ahead of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Union

from accord.schema import v1, v2
from accord.schema.v2_draft.options import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.schema.v2_draft.plans import PlanUpdate
from accord.schema.v2_draft.tool_calls import ToolCall, ToolCallContentChunk, ToolCallUpdateVariant
from accord.schema.wire_values import DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS, UNSET, Lenient, Open, UnsetType, Wire

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "ContentChunk",
    "Message",
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
    """`content` left out stays, null clears, an array replaces all; one block alone is read as an array (AMB-69)."""

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
    """More for a message: without an id for the newest of its kind (AMB-51); an array is several chunks (AMB-69)."""

    content: Union[v2.ContentBlock, list[v2.ContentBlock]]
    message_id: Lenient[v2.MessageId] = UNSET


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A `ContentChunk` of a message of the user."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A `ContentChunk` of a message of the agent."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A `ContentChunk` of a thought of the agent."""


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
    """Something happened in a session."""

    session_id: v2.SessionId
    update: SessionUpdate
