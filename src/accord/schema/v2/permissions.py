"""Permission requests of v2."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.all_versions import (
    CancelledPermissionOutcome,
    PermissionOptionId,
    SelectedPermissionOutcome,
    SessionId,
    TerminalId,
    ToolCallId,
)
from accord.schema.v2.content import AbsolutePath
from accord.schema.v2.tool_calls import ToolCallUpdate
from accord.schema.wire_values import UNSET, Known, Lenient, Nullable, Open, Wire

__all__ = [
    "CommandPermissionSubject",
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestPermissionSubject",
    "ToolCallPermissionSubject",
]

PermissionOptionKind: TypeAlias = Annotated[str, Known("allow_once", "allow_always", "reject_once", "reject_always")]


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Permission for a tool call; its members change the tool call as an update does."""

    tool_call: ToolCallUpdate


class CommandPermissionSubject(Wire, tag_field="type", tag="command"):
    """Permission for a command that the agent wants to run."""

    command: str
    cwd: AbsolutePath
    tool_call_id: Lenient[ToolCallId] = UNSET
    terminal_id: Lenient[TerminalId] = UNSET


RequestPermissionSubject: TypeAlias = Open[Union[ToolCallPermissionSubject, CommandPermissionSubject]]


class PermissionOption(Wire):
    """An option to select; `kind` is only a hint for its display."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Wire):
    """Params of `session/request_permission`; `title` is the question, not the title of a tool call."""

    session_id: SessionId
    title: str
    options: Annotated[list[PermissionOption], Meta(min_length=1)]
    description: Lenient[str] = UNSET
    subject: Nullable[RequestPermissionSubject] = UNSET


RequestPermissionOutcome: TypeAlias = Open[Union[SelectedPermissionOutcome, CancelledPermissionOutcome]]
"""An unknown outcome is never an approval."""


class RequestPermissionResponse(Wire):
    """Result of `session/request_permission`."""

    outcome: RequestPermissionOutcome
