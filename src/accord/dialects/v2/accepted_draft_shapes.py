"""Shapes of the draft that are read on a v2 connection too, but never written; strict mode rejects them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from accord.dialects.unset_values import none_if_unset
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, Lenient, Nullable, Wire


class PromptResponse(Wire):
    """A stop reason comes from an agent of the draft and ends the turn. v2 was first published without the id."""

    message_id: Lenient[wire.MessageId] = UNSET
    stop_reason: Lenient[wire.StopReason] = UNSET
    usage: Lenient[wire.Usage] = UNSET


class RequestPermissionRequest(Wire):
    """A request about `toolCall`, without a title."""

    session_id: wire.SessionId
    options: Annotated[list[wire.PermissionOption], Meta(min_length=1)]
    title: Lenient[str] = UNSET
    description: Lenient[str] = UNSET
    subject: Nullable[wire.RequestPermissionSubject] = UNSET
    tool_call: Nullable[wire.ToolCallUpdate] = UNSET

    def __post_init__(self) -> None:
        if none_if_unset(self.title) is None and none_if_unset(self.tool_call) is None:
            raise ValueError("`title` is required")


LENIENT_TYPES: dict[Any, Any] = {
    wire.PromptResponse: PromptResponse,
    wire.RequestPermissionRequest: RequestPermissionRequest,
}
"""The types that are read in place of the published ones, unless strict."""
