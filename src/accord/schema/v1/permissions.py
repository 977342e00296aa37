"""Asking the user before a tool call is carried out."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from accord.schema.v1.identifiers import PermissionOptionId, SessionId
from accord.schema.v1.tool_calls import ToolCallUpdate
from accord.schema.wire_values import Closed, Known, Wire

__all__ = [
    "CancelledPermissionOutcome",
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "SelectedPermissionOutcome",
]

PermissionOptionKind: TypeAlias = Annotated[
    str, Known("allow_once", "allow_always", "reject_once", "reject_always", closed=True)
]


class PermissionOption(Wire):
    """A choice; `kind` tells the client what it means, the agent goes by `option_id` alone."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(Wire):
    """Params of `session/request_permission`; the tool call may be one that was not reported before."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """The user chose; whether that allows anything depends on the option."""

    option_id: PermissionOptionId


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """The turn was cancelled before the user chose."""


RequestPermissionOutcome: TypeAlias = Closed[Union[SelectedPermissionOutcome, CancelledPermissionOutcome]]
"""An outcome of another kind is never an approval."""


class RequestPermissionResponse(Wire):
    """Result of `session/request_permission`."""

    outcome: RequestPermissionOutcome
