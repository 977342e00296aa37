"""Permission requests of v1: ask the user before a tool call runs."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Union

from accord.schema.all_versions import (
    CancelledPermissionOutcome,
    PermissionOptionId,
    SelectedPermissionOutcome,
    SessionId,
)
from accord.schema.v1.tool_calls import ToolCallUpdate
from accord.schema.wire_values import Closed, Known, Wire

__all__ = [
    "PermissionOption",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
]

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
