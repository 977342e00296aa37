"""A journal, a bounded amount at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from accord.errors import JournalUnreadable, Malformed
from accord.session.updates import Report
from accord.store.folding import folded
from accord.store.formats import read_back
from accord.store.joining import joined

__all__ = ["ReportPage", "page_of"]

PAGE_BYTES = 256 * 1024
"""Bytes of a journal that are read at a time, give or take one entry."""


class ReportPage(NamedTuple):
    """Reports, joined, and the number of the entry that the last of them are from."""

    reports: list[Report]
    last: int


def page_of(entries: Iterable[tuple[int, int, bytes]], store: str, session_id: str) -> ReportPage | None:
    """The reports of the first entries (number, format, reports), None when there are no more.

    An entry that cannot be read raises JournalUnreadable once it comes first: all before it is told.
    """
    reports: list[Report] = []
    last, size = None, 0
    for number, form, entry in entries:
        try:
            reports += read_back(form, entry)
        except Malformed as error:
            if last is None:
                raise JournalUnreadable(store, session_id, number, error.reason) from error
            break
        last = number
        size += len(entry)
        if size >= PAGE_BYTES:
            break
    return None if last is None else ReportPage(joined(folded(reports)), last)
