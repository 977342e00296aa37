"""Asking the user for permission, about a tool call or with v2's title and subject."""

from __future__ import annotations

from typing import TypeAlias, Union

from accord.schema import v2
from accord.schema.v2_draft.tool_calls import ToolCallUpdate
from accord.schema.values import UNSET, Lenient, Nullable, Open, Wire

__all__ = ["RequestPermissionRequest", "RequestPermissionSubject", "ToolCallPermissionSubject"]


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Permission for a tool call; what is told of it here changes it like an update would."""

    tool_call: ToolCallUpdate


RequestPermissionSubject: TypeAlias = Open[Union[ToolCallPermissionSubject, v2.CommandPermissionSubject]]


class RequestPermissionRequest(Wire):
    """A question to the user about `toolCall`, or with a `title` of its own."""

    session_id: v2.SessionId
    options: list[v2.PermissionOption]
    tool_call: Nullable[ToolCallUpdate] = UNSET
    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    subject: Nullable[RequestPermissionSubject] = UNSET

    def __post_init__(self) -> None:
        if not self.tool_call and not self.title:
            raise ValueError("`toolCall` is required")
