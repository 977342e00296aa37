"""Asking the user for permission."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.identifiers import AbsolutePath, PermissionOptionId, SessionId, TerminalId, ToolCallId
from accord.schema.v2.tool_calls import ToolCallUpdate
from accord.schema.wire_values import UNSET, Known, Lenient, Nullable, Open, Wire

__all__ = [
    "CancelledPermissionOutcome",
    "CommandPermissionSubject",
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "RequestPermissionSubject",
    "SelectedPermissionOutcome",
    "ToolCallPermissionSubject",
]

PermissionOptionKind: TypeAlias = Annotated[str, Known("allow_once", "allow_always", "reject_once", "reject_always")]


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Permission for a tool call; what is told of it here changes it like an update would."""

    tool_call: ToolCallUpdate


class CommandPermissionSubject(Wire, tag_field="type", tag="command"):
    """Permission for a command that the agent would run."""

    command: str
    cwd: AbsolutePath
    tool_call_id: Lenient[ToolCallId] = UNSET
    terminal_id: Lenient[TerminalId] = UNSET


RequestPermissionSubject: TypeAlias = Open[Union[ToolCallPermissionSubject, CommandPermissionSubject]]


class PermissionOption(Wire):
    """One possible answer; `kind` is only a hint how to show it."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Wire):
    """A question to the user; `title` is its text and not the title of any tool call."""

    session_id: SessionId
    title: str
    options: Annotated[list[PermissionOption], Meta(min_length=1)]
    description: Lenient[str] = UNSET
    subject: Nullable[RequestPermissionSubject] = UNSET


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """The user chose one of the options."""

    option_id: PermissionOptionId


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """Not approved, for whatever reason."""


RequestPermissionOutcome: TypeAlias = Open[Union[SelectedPermissionOutcome, CancelledPermissionOutcome]]
"""An unknown outcome is never an approval."""


class RequestPermissionResponse(Wire):
    """What became of the question."""

    outcome: RequestPermissionOutcome
