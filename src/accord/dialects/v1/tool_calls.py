"""Maps tool calls and content blocks between v1 and the session model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.tool_calls import ItemReader, locations_from_wire
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect
from accord.dialects.display_fallback import DisplayDialect, ItemWriter, diff_from_wire
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.entities import OTHER, PENDING, Location, ToolCall
from accord.session.updates import ToolCallPatch

__all__ = [
    "ALIKE",
    "CONTENT",
    "ITEMS",
    "kind_to_wire",
    "locations_to_wire",
    "new_tool_call",
    "patch_from_wire",
    "patch_to_wire",
    "status_to_wire",
]

CONTENT = ContentConverter(wire, closed_by="v1")
ALIKE = UpdateConverter(wire, CONTENT, meta_replaces=True)

ITEMS = ItemWriter(wire, wire.Diff, CONTENT)
T = TypeVar("T")

_KINDS = frozenset(("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"))
_STATUSES = frozenset(("pending", "in_progress", "completed", "failed"))
_READER = ItemReader(wire, CONTENT, wire.Diff, diff_from_wire)


def kind_to_wire(dialect: Dialect, kind: str, about: str) -> str:
    """A kind v1 has."""
    if kind in _KINDS:
        return kind
    dialect.lose("tool-kind", about)
    return OTHER


def status_to_wire(dialect: Dialect, status: str, about: str) -> str:
    """A status v1 has: what was cancelled has failed, anything unknown is still in progress."""
    if status in _STATUSES:
        return status
    if status == "cancelled":
        dialect.lose("tool-call-cancelled", about)
        return "failed"
    dialect.lose("tool-call-status", about)
    return "in_progress"


def locations_to_wire(locations: Iterable[Location]) -> list[wire.ToolCallLocation]:
    return [
        wire.ToolCallLocation(path=location.path, line=unset_if_none(location.line), meta=unset_if_none(location.meta))
        for location in locations
    ]


def new_tool_call(
    dialect: DisplayDialect, session_id: str, call: ToolCall, meta: dict[str, Any] | None | UnsetType
) -> wire.ToolCall:
    """All of a call, as its first report tells it."""
    if call.cancellable:
        dialect.lose("cancellable", call.id)
    return wire.ToolCall(
        tool_call_id=call.id,
        title=call.title or call.name or (call.kind if call.kind != OTHER else call.id),
        name=unset_if_none(call.name),
        kind=kind_to_wire(dialect, call.kind, call.id),
        status=status_to_wire(dialect, call.status, call.id),
        content=ITEMS.to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(call.locations) if call.locations else UNSET,
        raw_input=unset_if_none(call.raw_input),
        raw_output=unset_if_none(call.raw_output),
        meta=UNSET if meta is None else meta,
    )


def patch_to_wire(
    dialect: DisplayDialect, session_id: str, patch: ToolCallPatch, kind: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A patch; what it clears is set to the value that says nothing, since null changes nothing."""
    if patch.name is None or patch.raw_input is None or patch.raw_output is None:
        dialect.lose("raw-cleared", patch.id)
    if patch.cancellable:
        dialect.lose("cancellable", patch.id)
    if patch.meta is None:
        dialect.lose("meta-cleared", patch.id)
    return kind(
        tool_call_id=patch.id,
        title="" if patch.title is None else patch.title,
        name=UNSET if patch.name is None else patch.name,
        kind=UNSET if patch.kind is UNSET else kind_to_wire(dialect, patch.kind or OTHER, patch.id),
        status=UNSET if patch.status is UNSET else status_to_wire(dialect, patch.status or PENDING, patch.id),
        content=UNSET if patch.content is UNSET else ITEMS.to_wire(dialect, session_id, patch.content or []),
        locations=UNSET if patch.locations is UNSET else locations_to_wire(patch.locations or []),
        raw_input=UNSET if patch.raw_input is None else patch.raw_input,
        raw_output=UNSET if patch.raw_output is None else patch.raw_output,
        meta=UNSET if patch.meta is None else patch.meta,
    )


def patch_from_wire(
    dialect: Dialect, update: wire.ToolCall | wire.ToolCallUpdate, creates: bool = False
) -> ToolCallPatch:
    """A tool call as reported; null says the same as nothing (AMB-49)."""
    content, locations = none_if_unset(update.content), none_if_unset(update.locations)
    return ToolCallPatch(
        id=update.tool_call_id,
        title=_kept(update.title),
        name=_kept(update.name),
        kind=_kept(update.kind),
        status=_kept(update.status),
        content=UNSET if content is None else _READER.all_from_wire(dialect, content),
        locations=UNSET if locations is None else locations_from_wire(dialect, locations),
        raw_input=_kept(update.raw_input),
        raw_output=_kept(update.raw_output),
        meta=_kept(update.meta),
        meta_replaces=True,
        creates=creates,
    )


def _kept(value: T | None | UnsetType) -> T | UnsetType:
    return UNSET if value is None else value
