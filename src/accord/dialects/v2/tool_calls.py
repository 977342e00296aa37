"""Converts the tool calls of v2, and holds its converters of content blocks and updates."""

from __future__ import annotations

from functools import partial
from typing import Any

from accord.dialects.all_versions.content import ContentConverter
from accord.dialects.all_versions.paths_and_lines import display_path
from accord.dialects.all_versions.tool_calls import ItemReader, locations_from_wire, locations_to_wire
from accord.dialects.all_versions.updates import UpdateConverter
from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import map_list, map_value, none_if_unset, unset_if_none
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.diffs import GIT_PATCH, git_patch
from accord.session.entities import ContentItem, Diff, DiffPatch, FileChange, TerminalItem, ToolCallItem
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown

CONTENT = ContentConverter(wire)
UPDATES = UpdateConverter(wire, CONTENT)
_PATCH = StructConverter(DiffPatch, wire.DiffPatch)
_locations_to_wire = partial(locations_to_wire, wire.ToolCallLocation)


def patch_to_wire(dialect: Dialect, patch: ToolCallPatch, wire_type: type[wire.ToolCallUpdate]) -> wire.ToolCallUpdate:
    """A patch as an update or as part of a permission request, with its three states."""
    return wire_type(
        tool_call_id=patch.id,
        title=patch.title,
        name=patch.name,
        kind=patch.kind,
        status=patch.status,
        content=map_list(patch.content, partial(item_to_wire, dialect)),
        locations=map_value(patch.locations, _locations_to_wire),
        raw_input=patch.raw_input,
        raw_output=patch.raw_output,
        capabilities=map_value(patch.cancellable, capabilities_to_wire),
        meta=patch.meta,
    )


def patch_from_wire(dialect: Dialect, update: wire.ToolCallUpdate) -> ToolCallPatch:
    return ToolCallPatch(
        id=update.tool_call_id,
        title=update.title,
        name=update.name,
        kind=update.kind,
        status=update.status,
        content=map_value(update.content, partial(READER.all_from_wire, dialect)),
        locations=map_value(update.locations, partial(locations_from_wire, dialect)),
        raw_input=update.raw_input,
        raw_output=update.raw_output,
        cancellable=map_value(update.capabilities, can_cancel),
        meta=update.meta,
    )


def can_cancel(capabilities: wire.ToolCallCapabilities | wire.TerminalCapabilities) -> bool:
    return none_if_unset(capabilities.cancel) is not None


def capabilities_to_wire(cancellable: bool) -> wire.ToolCallCapabilities:
    return wire.ToolCallCapabilities(cancel=wire.ToolCallCancelCapabilities() if cancellable else UNSET)


def item_to_wire(dialect: Dialect, item: ToolCallItem) -> wire.ToolCallContent:
    match item:
        case ContentItem():
            return wire.Content(content=CONTENT.to_wire(dialect, item.content), meta=unset_if_none(item.meta))
        case Diff():
            return _diff_to_wire(dialect, item)
        case TerminalItem():
            return wire.Terminal(terminal_id=item.terminal_id, meta=unset_if_none(item.meta))
        case Unknown():
            return UnknownOnWire(item.tag, item.raw)


_PATHS: dict[str, type[wire.DiffAdd | wire.DiffDelete | wire.DiffModify]] = {
    "add": wire.DiffAdd,
    "delete": wire.DiffDelete,
    "modify": wire.DiffModify,
}
_PAIRS: dict[str, type[wire.DiffMove | wire.DiffCopy]] = {"move": wire.DiffMove, "copy": wire.DiffCopy}


def _diff_to_wire(dialect: Dialect, diff: Diff) -> wire.Diff:
    """The changes; a diff that has texts and no patch gets one made of them."""
    for change in diff.changes:
        if change.old_text is not None or change.new_text is not None:
            dialect.record_loss("diff-texts", change.path)
    patch = UNSET
    if diff.patch is not None:
        patch = _PATCH.to_wire(diff.patch)
    elif text := "".join(map(_section, diff.changes)):
        patch = wire.DiffPatch(format=GIT_PATCH, text=text)
    return wire.Diff(changes=list(map(_change_to_wire, diff.changes)), patch=patch, meta=unset_if_none(diff.meta))


def _section(change: FileChange) -> str:
    old_text, new_text = change.old_text, change.new_text
    match change.operation:
        case "add" if new_text is not None:
            return git_patch(change.path, None, new_text)
        case "modify" if old_text is not None and new_text is not None:
            return git_patch(change.path, old_text, new_text)
        case "delete" if old_text is not None:
            return git_patch(change.path, old_text, None)
        case _:
            return ""


def _change_to_wire(change: FileChange) -> wire.DiffChange:
    operation = change.operation
    if change.raw is not None:
        return UnknownOnWire(operation, change.raw)
    fields: dict[str, Any] = {
        "path": change.path,
        "file_type": unset_if_none(change.file_type),
        "mime_type": unset_if_none(change.mime_type),
        "meta": unset_if_none(change.meta),
    }
    if operation in _PAIRS:
        return _PAIRS[operation](old_path=change.old_path or change.path, **fields)
    if operation in _PATHS:
        return _PATHS[operation](**fields)
    return UnknownOnWire(operation, _custom_change(change))


def _custom_change(change: FileChange) -> dict[str, Any]:
    """An operation that is not in the protocol."""
    optional = {
        "oldPath": change.old_path,
        "fileType": change.file_type,
        "mimeType": change.mime_type,
        "_meta": change.meta,
    }
    members = {key: value for key, value in optional.items() if value is not None}
    return {"operation": change.operation, "path": change.path, **members}


def diff_from_wire(dialect: Dialect, item: Any) -> Diff:
    patch = none_if_unset(item.patch)
    return Diff(
        changes=[_change_from_wire(dialect, change) for change in item.changes],
        patch=None if patch is None else _PATCH.from_wire(patch),
        meta=none_if_unset(item.meta),
    )


def _change_from_wire(dialect: Dialect, change: wire.DiffChange) -> FileChange:
    if isinstance(change, UnknownOnWire):
        return FileChange(operation=change.tag, path=str(change.raw.get("path", "")), raw=change.raw)
    return FileChange(
        operation=str(change.__struct_config__.tag),
        path=display_path(dialect, change.path, "content"),
        old_path=getattr(change, "old_path", None),
        file_type=none_if_unset(change.file_type),
        mime_type=none_if_unset(change.mime_type),
        meta=none_if_unset(change.meta),
    )


READER = ItemReader(wire.Content, CONTENT, wire.Diff, diff_from_wire)
