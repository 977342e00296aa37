"""Tool calls of v1: what the agent reports about the tools it runs, and the permission requests before they run."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from accord.schema.all_versions import (
    CancelledPermissionOutcome,
    PermissionOptionId,
    SelectedPermissionOutcome,
    SessionId,
    Terminal,
    ToolCallId,
)
from accord.schema.v1.content import ContentBlock
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
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
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
    Known("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", closed=True),
]

ToolCallStatus: TypeAlias = Annotated[str, Known("pending", "in_progress", "completed", "failed", closed=True)]


class Content(Wire, tag_field="type", tag="content"):
    """A content block as part of a tool call."""

    content: ContentBlock


class Diff(Wire, tag_field="type", tag="diff"):
    """A change of one file; without `old_text` the file is new."""

    path: str
    new_text: str
    old_text: Lenient[str] = UNSET


ToolCallContent: TypeAlias = Closed[Union[Content, Diff, Terminal]]


class ToolCallLocation(Wire):
    """A file, and a line counted from 1, that the tool works on."""

    path: str
    line: Lenient[UInt32] = UNSET


class ToolCall(Wire, tag_field="sessionUpdate", tag="tool_call"):
    """The first report of a tool call; the default `kind` is "other", the default `status` "pending"."""

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
    """Changes a tool call: members that are missing or null are unchanged, arrays replace the old ones."""

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


PermissionOptionKind: TypeAlias = Annotated[
    str, Known("allow_once", "allow_always", "reject_once", "reject_always", closed=True)
]


class PermissionOption(Wire):
    """An option to select; `kind` tells the client what it means, the agent uses only `option_id`."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Wire):
    """Params of `session/request_permission`; the tool call may be new to the client."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]


RequestPermissionOutcome: TypeAlias = Closed[Union[SelectedPermissionOutcome, CancelledPermissionOutcome]]
"""An unknown outcome is never an approval."""


class RequestPermissionResponse(Wire):
    """Result of `session/request_permission`."""

    outcome: RequestPermissionOutcome
