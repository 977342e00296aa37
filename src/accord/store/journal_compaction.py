"""Compacts a journal while it is read: superseded updates are left out, consecutive text is joined.

Law: applied to any transcript, the folded reports do what all of them did, as long as no turn begins between them.
A tool call's patch is laid over its earlier one; of a plan and of the usage only the newest is told; each where the
first one stood. A patch that begins a tool call stays where it is: it may end the message being told.

Law: applied to any transcript, the joined reports do what the separate ones did, as long as no turn begins between
two pieces of a message that has no id. `session.merging` does the same for changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar, cast

from accord.session.content import Text
from accord.session.patch_rules import merge_meta
from accord.session.updates import (
    MessageAppend,
    Patch,
    PlanPatch,
    TerminalAppend,
    ToolCallAppend,
    ToolCallPatch,
    UsagePatch,
)
from accord.session.value import UNSET

_FIELDS = ("title", "name", "kind", "status", "content", "locations", "raw_input", "raw_output", "cancellable")


def folded(reports: list[Patch]) -> list[Patch]:
    """The reports without the needless ones. Those that are given are changed: nobody else may hold them."""
    kept: list[Patch] = []
    places: dict[Hashable, int] = {}  # where a later report can be laid over an earlier one
    for report in reports:
        key = None if type(report) is MessageAppend else _key(report)  # nearly all are
        place = None if key is None or _begins(report) else places.get(key)
        if place is not None:
            kept[place] = _laid(kept[place], report)
            continue
        if key is not None:
            places[key] = len(kept)
        elif type(report) is ToolCallAppend:
            places.pop((ToolCallPatch, report.id), None)  # a later patch must not come before it
        kept.append(report)
    return kept


def _begins(report: Patch) -> bool:
    return type(report) is ToolCallPatch and report.creates


def _key(report: Patch) -> Hashable | None:
    kind = type(report)
    if kind is ToolCallPatch:
        return kind, cast("ToolCallPatch", report).id
    if kind is PlanPatch:
        return kind, cast("PlanPatch", report).plan.id
    return kind if kind is UsagePatch else None


def _laid(earlier: Any, later: Any) -> Patch:
    """One report that does what the two do, one after the other."""
    if type(later) is PlanPatch:
        return later
    if type(later) is UsagePatch:
        if later.cost is UNSET:
            later.cost = earlier.cost
        return later
    for name in _FIELDS:
        value = getattr(earlier, name)
        if value is not UNSET and getattr(later, name) is UNSET:
            setattr(later, name, value)
    later.creates = earlier.creates
    _lay_meta(earlier, later)
    return later


def _lay_meta(earlier: ToolCallPatch, later: ToolCallPatch) -> None:
    if later.meta is UNSET:
        later.meta, later.meta_replaces = earlier.meta, earlier.meta_replaces
    elif later.meta is None or later.meta_replaces or earlier.meta is UNSET:
        return
    elif earlier.meta is None or earlier.meta_replaces:
        later.meta, later.meta_replaces = merge_meta(earlier.meta, later), True
    else:
        later.meta = {**earlier.meta, **later.meta}


T = TypeVar("T")

LONGEST = 64 * 1024
"""Characters or bytes after which a joined piece is long enough: joining must not undo the bounds of reading."""


def plain(report: object) -> str | bytes | None:
    """The text or the output that a piece consists of, when it joins with its like; None when more is said than that.

    Only what is exactly of the declared types joins: it can always be written, and read back.
    """
    if type(report) is MessageAppend:
        content, name = report.content, report.id
        if (
            type(content) is Text
            and type(content.text) is str
            and content.annotations is None
            and content.meta is None
            and report.meta is UNSET
            and type(report.role) is str
            and (name is None or type(name) is str)
        ):
            return content.text
    elif (
        type(report) is TerminalAppend
        and type(report.data) is bytes
        and report.meta is UNSET
        and type(report.id) is str
    ):
        return report.data
    return None


def joined(entries: Iterable[T]) -> list[T | MessageAppend | TerminalAppend]:
    """The entries, with pieces of one message's text or one terminal's output that follow each other put together."""
    result: list[Any] = []
    first: Any = None  # of a run of pieces, which stands last in the result
    run: list[Any] = []
    room = -1
    for entry in entries:
        inside = plain(entry)
        if inside is not None and len(inside) <= room and _alike(first, entry):
            run.append(inside)
            room -= len(inside)
            continue
        if len(run) > 1:
            result[-1] = _whole(first, run)
        result.append(entry)
        if inside is None:
            first, run, room = None, [], -1
        else:
            first, run, room = entry, [inside], LONGEST - len(inside)
    if len(run) > 1:
        result[-1] = _whole(first, run)
    return result


def _alike(first: Any, entry: Any) -> bool:
    if type(first) is not type(entry) or first.id != entry.id:
        return False
    return type(entry) is TerminalAppend or first.role == entry.role


def _whole(first: MessageAppend | TerminalAppend, run: list[Any]) -> MessageAppend | TerminalAppend:
    if isinstance(first, MessageAppend):
        return MessageAppend(role=first.role, id=first.id, content=Text("".join(run)))
    return TerminalAppend(id=first.id, data=b"".join(run))
