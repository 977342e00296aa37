"""Tool calls and permission requests of the v2 draft, with the members of v1 and v2."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from accord.schema import v2
from accord.schema.wire_values import SKIP_INVALID_ITEMS, UNSET, Lenient, LenientItems, Nullable, Open, UnsetType, Wire

__all__ = [
    "Diff",
    "RequestPermissionRequest",
    "RequestPermissionSubject",
    "ToolCall",
    "ToolCallContent",
    "ToolCallContentChunk",
    "ToolCallPermissionSubject",
    "ToolCallUpdate",
    "ToolCallUpdateVariant",
]


class Diff(Wire, tag_field="type", tag="diff"):
    """A file before and after (`path`, `oldText`, `newText`), or v2's list of `changes`; if both are present, the changes are used."""

    path: Union[v2.AbsolutePath, UnsetType] = UNSET
    old_text: Lenient[str] = UNSET
    new_text: Union[str, UnsetType] = UNSET
    changes: Annotated[Union[list[v2.DiffChange], UnsetType], SKIP_INVALID_ITEMS] = UNSET
    patch: Lenient[v2.DiffPatch] = UNSET

    def __post_init__(self) -> None:
        if self.changes is UNSET and (self.path is UNSET or self.new_text is UNSET):
            raise ValueError("a diff needs `path` and `newText`, or `changes`")


ToolCallContent: TypeAlias = Open[Union[v2.Content, Diff, v2.Terminal]]


class ToolCallUpdate(Wire):
    """Creates or changes a tool call. The meaning of null depends on the peer: unchanged as in v1, or cleared."""

    tool_call_id: v2.ToolCallId
    name: Lenient[str] = UNSET
    title: Lenient[str] = UNSET
    kind: Lenient[v2.ToolKind] = UNSET
    status: Lenient[v2.ToolCallStatus] = UNSET
    content: LenientItems[ToolCallContent] = UNSET
    locations: LenientItems[v2.ToolCallLocation] = UNSET
    raw_input: Lenient[Any] = UNSET
    raw_output: Lenient[Any] = UNSET
    capabilities: Lenient[v2.ToolCallCapabilities] = UNSET


class ToolCallUpdateVariant(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """A `ToolCallUpdate` as a session update."""


class ToolCall(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call"):
    """The first report of a tool call in v1; here it means the same as an update (AMB-19)."""


class ToolCallContentChunk(Wire, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """Appends one item to the content of a tool call."""

    tool_call_id: v2.ToolCallId
    content: ToolCallContent


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Permission for a tool call; its members change the tool call as an update does."""

    tool_call: ToolCallUpdate


RequestPermissionSubject: TypeAlias = Open[Union[ToolCallPermissionSubject, v2.CommandPermissionSubject]]


class RequestPermissionRequest(Wire):
    """Params of `session/request_permission`, about `toolCall` or with a `title` of its own."""

    session_id: v2.SessionId
    options: list[v2.PermissionOption]
    tool_call: Nullable[ToolCallUpdate] = UNSET
    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    subject: Nullable[RequestPermissionSubject] = UNSET

    def __post_init__(self) -> None:
        if not self.tool_call and not self.title:
            raise ValueError("`toolCall` is required")
