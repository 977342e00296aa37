"""What tool calls are made of, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.dialects.paths import noted
from accord.dialects.shown import ShowingDialect, terminal_text
from accord.dialects.v1.content import CONTENT, block_to_wire
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.diffs import texts_of_patch
from accord.session.entities import ContentItem, Diff, FileChange, Location, TerminalItem, ToolCallItem
from accord.session.updates import ToolCallPatch
from accord.session.word import Unknown

__all__ = [
    "diff_changes_to_wire",
    "diff_from_wire",
    "item_from_wire",
    "items_from_wire",
    "items_to_wire",
    "locations_from_wire",
    "locations_to_wire",
    "patch_from_wire",
    "status_to_wire",
]

_STATUSES = frozenset(("pending", "in_progress", "completed", "failed"))


def status_to_wire(dialect: ShowingDialect, status: str, about: str) -> str:
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
        wire.ToolCallLocation(path=location.path, line=told(location.line), meta=told(location.meta))
        for location in locations
    ]


def locations_from_wire(dialect: Dialect, locations: Iterable[Any]) -> list[Location]:
    """The locations; a line that does not count from 1 is left out, its path kept (AMB-47)."""
    return [
        Location(
            path=noted(dialect, location.path, "locations"),
            line=known(location.line) or None,
            meta=known(location.meta),
        )
        for location in locations
    ]


def items_to_wire(dialect: ShowingDialect, session_id: str, items: Sequence[ToolCallItem]) -> list[Any]:
    """The items, of which diffs become one item for each file and display terminals become text."""
    written: list[Any] = []
    for item in items:
        match item:
            case ContentItem():
                written.append(wire.Content(content=block_to_wire(dialect, item.content), meta=told(item.meta)))
            case Diff():
                written.extend(_diff_to_wire(dialect, item))
            case TerminalItem():
                terminal = dialect.shown(session_id).terminals.get(item.terminal_id)
                if terminal is None:
                    written.append(wire.Terminal(terminal_id=item.terminal_id, meta=told(item.meta)))
                else:
                    written.append(_text_item(terminal_text(terminal)))
            case Unknown():
                written.append(UnknownOnWire(item.tag, item.raw))
    return written


def _text_item(text: str) -> wire.Content:
    return wire.Content(content=wire.TextContent(text=text))


def _diff_to_wire(dialect: ShowingDialect, diff: Diff) -> list[Any]:
    return [
        _text_item(known_as) if isinstance(known_as, str) else wire.Diff(**known_as)
        for known_as in diff_changes_to_wire(dialect, diff)
    ]


def diff_changes_to_wire(dialect: Dialect, diff: Diff) -> Iterator[dict[str, Any] | str]:
    """For each file the members of a diff that shows its text before and after, or a line that says what happened."""
    partial = {} if diff.patch is None else texts_of_patch(diff.patch)
    for change in diff.changes:
        old_text, new_text = change.old_text, change.new_text
        deleted = change.operation == "delete"
        simple = deleted or change.operation in ("add", "modify")
        if simple and (old_text if deleted else new_text) is None and change.path in partial:
            dialect.lose("diff-partial", change.path)
            old_text, new_text = partial[change.path]
        if not simple or (old_text if deleted else new_text) is None:
            dialect.lose("diff-operation", change.path)
            yield _described(change)
            continue
        if deleted:
            dialect.lose("diff-delete", change.path)
        if change.file_type not in (None, "text") or change.mime_type is not None:
            dialect.lose("diff-details", change.path)
        yield {
            "path": change.path,
            "old_text": None if change.operation == "add" else old_text,
            "new_text": new_text or "",
            "meta": told(change.meta if change.meta is not None else diff.meta),
        }


def _described(change: FileChange) -> str:
    origin = f"{change.old_path} → " if change.old_path else ""
    return f"{change.operation}: {origin}{change.path}"


def items_from_wire(dialect: Dialect, items: Iterable[Any]) -> list[ToolCallItem]:
    return [item_from_wire(dialect, item) for item in items]


def item_from_wire(dialect: Dialect, item: Any) -> ToolCallItem:
    """One item of a tool call's content as a word."""
    match item:
        case wire.Content():
            return ContentItem(content=CONTENT.from_wire(item.content), meta=known(item.meta))
        case wire.Diff():
            return diff_from_wire(dialect, item)
        case wire.Terminal():
            return TerminalItem(terminal_id=item.terminal_id, meta=known(item.meta))
        case _:
            return Unknown(tag=item.tag, raw=item.raw)


def diff_from_wire(dialect: Dialect, item: Any) -> Diff:
    """A changed file; without an old text it is a new one."""
    old_text = known(item.old_text)
    change = FileChange(
        operation="add" if old_text is None else "modify",
        path=noted(dialect, item.path, "content"),
        old_text=old_text,
        new_text=item.new_text,
    )
    return Diff(changes=[change], meta=known(item.meta))


def patch_from_wire(dialect: Dialect, update: Any, creates: bool = False) -> ToolCallPatch:
    """A tool call as reported; null says the same as nothing (AMB-49)."""
    content, locations = known(update.content), known(update.locations)
    return ToolCallPatch(
        id=update.tool_call_id,
        title=_kept(update.title),
        name=_kept(update.name),
        kind=_kept(update.kind),
        status=_kept(update.status),
        content=UNSET if content is None else items_from_wire(dialect, content),
        locations=UNSET if locations is None else locations_from_wire(dialect, locations),
        raw_input=_kept(update.raw_input),
        raw_output=_kept(update.raw_output),
        meta=_kept(update.meta),
        meta_replaces=True,
        creates=creates,
    )


def _kept(value: Any) -> Any:
    return UNSET if value is None else value
