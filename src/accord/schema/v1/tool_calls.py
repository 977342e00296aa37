"""Tool calls: what the agent does, as the client gets to see it."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from accord.schema.v1.content import ContentBlock
from accord.schema.v1.identifiers import TerminalId, ToolCallId
from accord.schema.wire_values import (
    UNSET,
    Closed,
    Defaulted,
    DefaultedItems,
    Known,
    Lenient,
    LenientItems,
    UInt32,
    Wire,
)

__all__ = [
    "Content",
    "Diff",
    "Terminal",
    "ToolCall",
    "ToolCallContent",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolCallUpdateVariant",
    "ToolKind",
]

ToolKind: TypeAlias = Annotated[
    str,
    Known(
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
        closed=True,
    ),
]

ToolCallStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", "failed", closed=True)]


class Content(Wire, tag_field="type", tag="content"):
    """A content block as part of a tool call."""

    content: ContentBlock


class Diff(Wire, tag_field="type", tag="diff"):
    """A change of one file; no `old_text` means that the file is new."""

    path: str
    new_text: str
    old_text: Lenient[str] = UNSET


class Terminal(Wire, tag_field="type", tag="terminal"):
    """A live view of a terminal, which stays readable after the terminal's release."""

    terminal_id: TerminalId


ToolCallContent: TypeAlias = Closed[Union[Content, Diff, Terminal]]


class ToolCallLocation(Wire):
    """A place the tool is at work on, for clients that follow along; lines count from 1."""

    path: str
    line: Lenient[UInt32] = UNSET


class ToolCall(Wire, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call as it is first reported; without `kind` it is "other", without `status` "pending"."""

    tool_call_id: ToolCallId
    title: str
    name: Lenient[str] = UNSET
    kind: Defaulted[ToolKind] = UNSET
    status: Defaulted[ToolCallStatus] = UNSET
    content: DefaultedItems[ToolCallContent] = UNSET
    locations: DefaultedItems[ToolCallLocation] = UNSET
    raw_input: Lenient[Any] = UNSET
    raw_output: Lenient[Any] = UNSET


class ToolCallUpdate(Wire):
    """What changed in a tool call: members left out or null stay as they are, arrays are replaced whole."""

    tool_call_id: ToolCallId
    kind: Lenient[ToolKind] = UNSET
    status: Lenient[ToolCallStatus] = UNSET
    title: Lenient[str] = UNSET
    name: Lenient[str] = UNSET
    content: LenientItems[ToolCallContent] = UNSET
    locations: LenientItems[ToolCallLocation] = UNSET
    raw_input: Lenient[Any] = UNSET
    raw_output: Lenient[Any] = UNSET


class ToolCallUpdateVariant(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """A `ToolCallUpdate` sent as a session update; in permission requests it goes without the tag."""
