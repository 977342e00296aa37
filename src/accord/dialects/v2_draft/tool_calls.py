"""Converts the tool calls of the draft, with what null means in them, and its permission requests.

A permission request is about `toolCall`, with v2's title beside it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.dialects.all_versions.tool_calls import ItemReader, locations_from_wire, locations_to_wire
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect
from accord.dialects.display_fallback import ItemWriter
from accord.dialects.display_fallback import diff_from_wire as v1_diff_from_wire
from accord.dialects.display_state import DisplayDialect
from accord.dialects.unset_values import map_value, none_if_unset, unset_if_none
from accord.dialects.v1.permissions import subject_as_call
from accord.dialects.v2.permissions import PERMISSIONS, other_subject_to_wire, subject_from_wire
from accord.dialects.v2.tool_calls import CONTENT, can_cancel, capabilities_to_wire
from accord.dialects.v2.tool_calls import diff_from_wire as v2_diff_from_wire
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.entities import OTHER, PENDING, Diff, ToolCall
from accord.session.requests import PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallAppend, ToolCallPatch


class DraftDialect(DisplayDialect):
    """A dialect that finds out whether null clears a member in updates of tool calls (AMB-49)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.null_clears = False
        """The peer has sent a shape that v1 does not have."""


def _diff_from_wire(dialect: Dialect, item: wire.Diff) -> Diff:
    """v1's one file, or v2's list of changes, which v1 does not have."""
    if item.changes is UNSET:
        return v1_diff_from_wire(dialect, item)
    assert isinstance(dialect, DraftDialect)
    dialect.null_clears = True
    return v2_diff_from_wire(dialect, item)


UPDATES = UpdateConverter(v2, CONTENT, meta_replaces=True)
ITEMS = ItemWriter(v2, wire.Diff, CONTENT)
READER = ItemReader(v2.Content, CONTENT, wire.Diff, _diff_from_wire)


def _status_to_wire(dialect: Dialect, call_id: str, status: str) -> str:
    """Statuses are open in the draft, but its clients know only two final ones."""
    if status != "cancelled":
        return status
    dialect.record_loss("tool-call-cancelled", call_id)
    return "failed"


def new_tool_call(
    dialect: DisplayDialect, session_id: str, call: ToolCall, patch: ToolCallPatch | ToolCallAppend
) -> Wire:
    """The first update of a call has its title, kind and status (TOOL-06)."""
    return wire.ToolCallUpdateVariant(
        tool_call_id=call.id,
        title=unset_if_none(call.title or call.name),
        name=unset_if_none(call.name),
        kind=call.kind,
        status=_status_to_wire(dialect, call.id, call.status),
        content=ITEMS.to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(v2.ToolCallLocation, call.locations) if call.locations else UNSET,
        raw_input=unset_if_none(call.raw_input),
        raw_output=unset_if_none(call.raw_output),
        capabilities=capabilities_to_wire(True) if call.cancellable else UNSET,
        meta=unset_if_none(call.meta) if isinstance(patch, ToolCallPatch) else patch.meta,
    )


def patch_to_wire(
    dialect: DisplayDialect, session_id: str, patch: ToolCallPatch, wire_type: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A cleared member is set to its empty value where there is one, because null might not change it."""
    status = PENDING if patch.status is None else patch.status
    locations = UNSET if patch.locations is UNSET else locations_to_wire(v2.ToolCallLocation, patch.locations or [])
    return wire_type(
        tool_call_id=patch.id,
        title=patch.title,
        name=patch.name,
        kind=OTHER if patch.kind is None else patch.kind,
        status=map_value(status, partial(_status_to_wire, dialect, patch.id)),
        content=UNSET if patch.content is UNSET else ITEMS.to_wire(dialect, session_id, patch.content or []),
        locations=locations,
        raw_input=patch.raw_input,
        raw_output=patch.raw_output,
        capabilities=map_value(patch.cancellable, capabilities_to_wire),
        meta=patch.meta,
    )


def patch_from_wire(dialect: DraftDialect, update: wire.ToolCallUpdate, creates: bool = False) -> ToolCallPatch:
    """Whether null clears depends on the shapes that the peer has sent (AMB-49)."""

    def clear_or_unset(value: Any) -> Any:
        return UNSET if value is None and not dialect.null_clears else value

    if none_if_unset(update.capabilities) is not None:
        dialect.null_clears = True
    # Read before the rest: a diff in it may show that null clears.
    content = map_value(clear_or_unset(update.content), partial(READER.all_from_wire, dialect))
    return ToolCallPatch(
        id=update.tool_call_id,
        title=clear_or_unset(update.title),
        name=clear_or_unset(update.name),
        kind=clear_or_unset(update.kind),
        status=clear_or_unset(update.status),
        content=content,
        locations=map_value(clear_or_unset(update.locations), partial(locations_from_wire, dialect)),
        raw_input=clear_or_unset(update.raw_input),
        raw_output=clear_or_unset(update.raw_output),
        cancellable=map_value(clear_or_unset(update.capabilities), can_cancel),
        meta=clear_or_unset(update.meta),
        meta_replaces=True,
        creates=creates,
    )


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
