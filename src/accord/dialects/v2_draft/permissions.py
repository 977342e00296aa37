"""Converts the permission requests of the draft: about `toolCall`, with v2's title beside it."""

from __future__ import annotations

from accord.dialects.display_fallback import DisplayDialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v1.permissions import subject_as_call
from accord.dialects.v2.permissions import PERMISSIONS, other_subject_to_wire, subject_from_wire
from accord.dialects.v2_draft.tool_calls import DraftDialect, patch_from_wire, patch_to_wire
from accord.schema import v2_draft as wire
from accord.schema.wire_values import UNSET
from accord.session.requests import PermissionRequest, ToolCallSubject

__all__ = ["REQUEST_PERMISSION"]


def _to_wire(dialect: DisplayDialect, request: PermissionRequest) -> wire.RequestPermissionRequest:
    """A subject that is not a tool call is sent, too, for clients that look for it."""
    call, subject = subject_as_call(dialect, request), request.subject
    return wire.RequestPermissionRequest(
        session_id=request.session_id,
        tool_call=patch_to_wire(dialect, request.session_id, call, wire.ToolCallUpdate),
        title=unset_if_none(request.title or none_if_unset(call.title)),
        description=unset_if_none(request.description),
        subject=UNSET if isinstance(subject, ToolCallSubject | None) else other_subject_to_wire(subject),
        options=PERMISSIONS.options_to_wire(request.options),
        meta=unset_if_none(request.meta),
    )


def _from_wire(dialect: DraftDialect, params: wire.RequestPermissionRequest) -> PermissionRequest:
    """A subject counts before `toolCall`."""
    title = none_if_unset(params.title)
    if title is not None or none_if_unset(params.subject) is not None:
        dialect.null_clears = True
    subject = subject_from_wire(dialect, params, patch_from_wire)
    if title is None and isinstance(subject, ToolCallSubject):
        title = subject.call.title or None
    return PermissionRequest(
        session_id=params.session_id,
        title=title,
        description=none_if_unset(params.description),
        subject=subject,
        options=PERMISSIONS.options_from_wire(params.options),
        meta=none_if_unset(params.meta),
    )


REQUEST_PERMISSION = PERMISSIONS.request(_to_wire, _from_wire)
