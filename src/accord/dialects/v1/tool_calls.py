"""Converts the tool calls of v1, and holds its converters of content blocks and updates."""

from __future__ import annotations

from typing import Any, TypeVar

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.tool_calls import ItemReader, locations_from_wire, locations_to_wire
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect
from accord.dialects.display_fallback import ItemWriter, diff_from_wire
from accord.dialects.display_state import DisplayDialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.entities import OTHER, PENDING, ToolCall
from accord.session.updates import ToolCallPatch

T = TypeVar("T")

CONTENT = ContentConverter(wire, closed_by="v1")
UPDATES = UpdateConverter(wire, CONTENT, meta_replaces=True)
ITEMS = ItemWriter(wire, wire.Diff, CONTENT)
_READER = ItemReader(wire.Content, CONTENT, wire.Diff, diff_from_wire)

_KINDS = ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
_STATUSES = ("pending", "in_progress", "completed", "failed")


def _kind_to_wire(dialect: Dialect, kind: str, call_id: str) -> str:
    if kind in _KINDS:
        return kind
    dialect.record_loss("tool-kind", call_id)
    return OTHER


def _status_to_wire(dialect: Dialect, status: str, call_id: str) -> str:
    """A cancelled call has failed, an unknown status is in progress."""
    if status in _STATUSES:
        return status
    if status == "cancelled":
        dialect.record_loss("tool-call-cancelled", call_id)
        return "failed"
    dialect.record_loss("tool-call-status", call_id)
    return "in_progress"


def new_tool_call(
    dialect: DisplayDialect, session_id: str, call: ToolCall, meta: dict[str, Any] | None | UnsetType
) -> wire.ToolCall:
    """The whole call, as its first update has it."""
    if call.cancellable:
        dialect.record_loss("cancellable", call.id)
    return wire.ToolCall(
        tool_call_id=call.id,
        title=call.title or call.name or (call.kind if call.kind != OTHER else call.id),
        name=unset_if_none(call.name),
        kind=_kind_to_wire(dialect, call.kind, call.id),
        status=_status_to_wire(dialect, call.status, call.id),
        content=ITEMS.to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(wire.ToolCallLocation, call.locations) if call.locations else UNSET,
        raw_input=unset_if_none(call.raw_input),
        raw_output=unset_if_none(call.raw_output),
        meta=UNSET if meta is None else meta,
    )


def patch_to_wire(
    dialect: DisplayDialect, session_id: str, patch: ToolCallPatch, wire_type: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A cleared member is set to its empty value, since null changes nothing."""
    if patch.name is None or patch.raw_input is None or patch.raw_output is None:
        dialect.record_loss("raw-cleared", patch.id)
    if patch.cancellable:
        dialect.record_loss("cancellable", patch.id)
    if patch.meta is None:
        dialect.record_loss("meta-cleared", patch.id)
    locations = UNSET if patch.locations is UNSET else locations_to_wire(wire.ToolCallLocation, patch.locations or [])
    return wire_type(
        tool_call_id=patch.id,
        title="" if patch.title is None else patch.title,
        name=_unset_if_null(patch.name),
        kind=UNSET if patch.kind is UNSET else _kind_to_wire(dialect, patch.kind or OTHER, patch.id),
        status=UNSET if patch.status is UNSET else _status_to_wire(dialect, patch.status or PENDING, patch.id),
        content=UNSET if patch.content is UNSET else ITEMS.to_wire(dialect, session_id, patch.content or []),
        locations=locations,
        raw_input=_unset_if_null(patch.raw_input),
        raw_output=_unset_if_null(patch.raw_output),
        meta=_unset_if_null(patch.meta),
    )


def patch_from_wire(
    dialect: Dialect, update: wire.ToolCall | wire.ToolCallUpdate, creates: bool = False
) -> ToolCallPatch:
    """Null means the same as missing (AMB-49)."""
    content, locations = none_if_unset(update.content), none_if_unset(update.locations)
    return ToolCallPatch(
        id=update.tool_call_id,
        title=_unset_if_null(update.title),
        name=_unset_if_null(update.name),
        kind=_unset_if_null(update.kind),
        status=_unset_if_null(update.status),
        content=UNSET if content is None else _READER.all_from_wire(dialect, content),
        locations=UNSET if locations is None else locations_from_wire(dialect, locations),
        raw_input=_unset_if_null(update.raw_input),
        raw_output=_unset_if_null(update.raw_output),
        meta=_unset_if_null(update.meta),
        meta_replaces=True,
        creates=creates,
    )


def _unset_if_null(value: T | None | UnsetType) -> T | UnsetType:
    return UNSET if value is None else value
