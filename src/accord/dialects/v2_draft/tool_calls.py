"""What tool calls are made of, between the draft and words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from accord.dialects.absent import told
from accord.dialects.dialect import Dialect
from accord.dialects.shown import ShowingDialect, terminal_text
from accord.dialects.v1.tool_calls import diff_changes_to_wire, diff_from_wire, locations_from_wire
from accord.dialects.v2.patched import each, one
from accord.dialects.v2.tool_calls import can_cancel
from accord.dialects.v2.tool_calls import item_from_wire as item_of_v2
from accord.dialects.v2_draft.content import CONTENT
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import OTHER, PENDING, ContentItem, Diff, Location, TerminalItem, ToolCallItem
from accord.session.updates import ToolCallPatch
from accord.session.word import Unknown

__all__ = ["item_from_wire", "items_to_wire", "locations_to_wire", "patch_from_wire", "patch_to_wire"]


def items_to_wire(dialect: ShowingDialect, session_id: str, items: Iterable[ToolCallItem]) -> list[Any]:
    """The items, of which diffs become one item for each file and display terminals become text."""
    written: list[Any] = []
    for item in items:
        match item:
            case ContentItem():
                written.append(v2.Content(content=CONTENT.to_wire(item.content), meta=told(item.meta)))
            case Diff():
                changes = diff_changes_to_wire(dialect, item)
                written.extend(_text_item(told) if isinstance(told, str) else wire.Diff(**told) for told in changes)
            case TerminalItem():
                terminal = dialect.shown(session_id).terminals.get(item.terminal_id)
                if terminal is None:
                    written.append(v2.Terminal(terminal_id=item.terminal_id, meta=told(item.meta)))
                else:
                    written.append(_text_item(terminal_text(terminal)))
            case Unknown():
                written.append(UnknownOnWire(item.tag, item.raw))
    return written


def _text_item(text: str) -> v2.Content:
    return v2.Content(content=v2.TextContent(text=text))


def item_from_wire(dialect: Dialect, item: Any) -> ToolCallItem:
    """One item of a tool call's content as a word; a diff may be v1's or v2's."""
    if not isinstance(item, wire.Diff):
        return item_of_v2(dialect, item)
    if item.changes is UNSET:
        return diff_from_wire(dialect, item)
    return item_of_v2(dialect, v2.Diff(changes=item.changes, patch=item.patch, meta=item.meta))


def locations_to_wire(locations: Iterable[Location]) -> list[v2.ToolCallLocation]:
    return [
        v2.ToolCallLocation(path=location.path, line=told(location.line), meta=told(location.meta))
        for location in locations
    ]


def patch_to_wire(dialect: ShowingDialect, session_id: str, patch: ToolCallPatch, kind: type[Any]) -> Any:
    """A patch; what null might leave unchanged is set to the value that says nothing, where there is one."""
    return kind(
        tool_call_id=patch.id,
        title=patch.title,
        name=patch.name,
        kind=OTHER if patch.kind is None else patch.kind,
        status=PENDING if patch.status is None else patch.status,
        content=UNSET if patch.content is UNSET else items_to_wire(dialect, session_id, patch.content or []),
        locations=UNSET if patch.locations is UNSET else locations_to_wire(patch.locations or []),
        raw_input=patch.raw_input,
        raw_output=patch.raw_output,
        capabilities=one(patch.cancellable, capabilities_to_wire),
        meta=patch.meta,
    )


def capabilities_to_wire(cancellable: bool) -> v2.ToolCallCapabilities:
    return v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities() if cancellable else UNSET)


def patch_from_wire(dialect: Any, update: wire.ToolCallUpdate, creates: bool = False) -> ToolCallPatch:
    """A tool call as reported; whether null clears depends on what the peer has shown of itself (AMB-49)."""

    def kept(value: Any) -> Any:
        return UNSET if value is None and not dialect.null_clears else value

    locations = kept(update.locations)
    return ToolCallPatch(
        id=update.tool_call_id,
        title=kept(update.title),
        name=kept(update.name),
        kind=kept(update.kind),
        status=kept(update.status),
        content=each(kept(update.content), partial(item_from_wire, dialect)),
        locations=locations_from_wire(dialect, locations) if locations else locations,
        raw_input=kept(update.raw_input),
        raw_output=kept(update.raw_output),
        cancellable=one(kept(update.capabilities), can_cancel),
        meta=kept(update.meta),
        meta_replaces=True,
        creates=creates,
    )
