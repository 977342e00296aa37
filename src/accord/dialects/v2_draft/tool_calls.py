"""Maps tool calls and content blocks between the v2 draft and the session model, and decides what null means."""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.dialects.all_versions.tool_calls import ItemReader, locations_from_wire
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect
from accord.dialects.display_fallback import DisplayDialect, ItemWriter
from accord.dialects.display_fallback import diff_from_wire as diff_of_v1
from accord.dialects.unset_values import map_value, none_if_unset
from accord.dialects.v2.tool_calls import CONTENT, can_cancel, capabilities_to_wire, locations_to_wire
from accord.dialects.v2.tool_calls import diff_from_wire as diff_of_v2
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.schema.wire_values import UNSET
from accord.session.entities import OTHER, PENDING, Diff
from accord.session.updates import ToolCallPatch

__all__ = [
    "ALIKE",
    "CONTENT",
    "ITEMS",
    "READER",
    "DraftDialect",
    "patch_from_wire",
    "patch_to_wire",
    "status_to_wire",
]


class DraftDialect(DisplayDialect):
    """A dialect that listens for whether null clears in tool call updates (AMB-49)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.null_clears = False
        """The peer has sent a form that v1 does not have."""


ALIKE = UpdateConverter(v2, CONTENT, meta_replaces=True)


def _diff_from_wire(dialect: Dialect, item: wire.Diff) -> Diff:
    """Changed files: v1's one, or v2's list, which v1 does not have."""
    if item.changes is UNSET:
        return diff_of_v1(dialect, item)
    assert isinstance(dialect, DraftDialect)
    dialect.null_clears = True
    return diff_of_v2(dialect, item)


ITEMS = ItemWriter(v2, wire.Diff, CONTENT)
READER = ItemReader(v2, CONTENT, wire.Diff, _diff_from_wire)


def status_to_wire(dialect: Dialect, about: str, status: str) -> str:
    """Statuses are open in the draft, but no client of it knows how a call ends other than these two ways."""
    if status != "cancelled":
        return status
    dialect.lose("tool-call-cancelled", about)
    return "failed"


def patch_to_wire(
    dialect: DisplayDialect, session_id: str, patch: ToolCallPatch, kind: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A patch; what null might leave unchanged is set to the value that says nothing, where there is one."""
    return kind(
        tool_call_id=patch.id,
        title=patch.title,
        name=patch.name,
        kind=OTHER if patch.kind is None else patch.kind,
        status=PENDING if patch.status is None else map_value(patch.status, partial(status_to_wire, dialect, patch.id)),
        content=UNSET if patch.content is UNSET else ITEMS.to_wire(dialect, session_id, patch.content or []),
        locations=UNSET if patch.locations is UNSET else locations_to_wire(patch.locations or []),
        raw_input=patch.raw_input,
        raw_output=patch.raw_output,
        capabilities=map_value(patch.cancellable, capabilities_to_wire),
        meta=patch.meta,
    )


def patch_from_wire(dialect: DraftDialect, update: wire.ToolCallUpdate, creates: bool = False) -> ToolCallPatch:
    """A tool call as reported; whether null clears depends on what the peer has shown of itself (AMB-49)."""

    def kept(value: Any) -> Any:
        return UNSET if value is None and not dialect.null_clears else value

    if none_if_unset(update.capabilities) is not None:
        dialect.null_clears = True
    # Read before the rest: a diff in it may tell that null clears.
    content = map_value(kept(update.content), partial(READER.all_from_wire, dialect))
    return ToolCallPatch(
        id=update.tool_call_id,
        title=kept(update.title),
        name=kept(update.name),
        kind=kept(update.kind),
        status=kept(update.status),
        content=content,
        locations=map_value(kept(update.locations), partial(locations_from_wire, dialect)),
        raw_input=kept(update.raw_input),
        raw_output=kept(update.raw_output),
        cancellable=map_value(kept(update.capabilities), can_cancel),
        meta=kept(update.meta),
        meta_replaces=True,
        creates=creates,
    )
