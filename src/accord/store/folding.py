"""Reports that later ones have made needless, left out when a journal is read.

Law: applied to any transcript, the folded reports do what all of them did, as long as no turn begins between them.
A tool call's patch is laid over its earlier one; of a plan and of the usage only the newest is told; each where the
first one stood. A patch that begins a tool call stays where it is: it may end the message being told.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

from accord.session.patching import meta_after
from accord.session.updates import MessagePiece, PlanReport, Report, ToolCallPatch, ToolCallPiece, UsageReport
from accord.session.word import UNSET

__all__ = ["folded"]

_FIELDS = (
    "title",
    "name",
    "kind",
    "status",
    "content",
    "locations",
    "raw_input",
    "raw_output",
    "cancellable",
)


def folded(reports: list[Report]) -> list[Report]:
    """The reports without the needless ones. Those that are given are changed: nobody else may hold them."""
    kept: list[Report] = []
    places: dict[Hashable, int] = {}  # where a later report can be laid over an earlier one
    for report in reports:
        key = None if type(report) is MessagePiece else _key(report)  # nearly all are
        place = None if key is None or _begins(report) else places.get(key)
        if place is not None:
            kept[place] = _laid(kept[place], report)
            continue
        if key is not None:
            places[key] = len(kept)
        elif type(report) is ToolCallPiece:
            places.pop((ToolCallPatch, report.id), None)  # a later patch must not come before it
        kept.append(report)
    return kept


def _begins(report: Report) -> bool:
    return type(report) is ToolCallPatch and report.creates


def _key(report: Report) -> Hashable | None:
    kind = type(report)
    if kind is ToolCallPatch:
        return kind, cast("ToolCallPatch", report).id
    if kind is PlanReport:
        return kind, cast("PlanReport", report).plan.id
    return kind if kind is UsageReport else None


def _laid(earlier: Any, later: Any) -> Report:
    """One report that does what the two do, one after the other."""
    if type(later) is PlanReport:
        return later
    if type(later) is UsageReport:
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
        later.meta, later.meta_replaces = meta_after(earlier.meta, later), True
    else:
        later.meta = {**earlier.meta, **later.meta}
