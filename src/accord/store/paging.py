"""Pages of journals and of session lists, and their cursors."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, TypeAlias

import msgspec

from accord.errors import InvalidParams, JournalUnreadable, Malformed
from accord.session.requests import SessionPage, SessionSummary
from accord.session.updates import Patch
from accord.store.journal_compaction import folded, joined
from accord.store.row_formats import read_back

PAGE_BYTES = 256 * 1024
"""Bytes of a journal that are read at a time, give or take one entry."""


class PatchPage(NamedTuple):
    """Reports, joined, and the number of the entry that the last of them are from."""

    reports: list[Patch]
    last: int


def page_of(entries: Iterable[tuple[int, int, bytes]], store: str, session_id: str) -> PatchPage | None:
    """The reports of the first entries (number, format, reports), None when there are no more.

    An entry that cannot be read raises JournalUnreadable once it comes first: all before it is told.
    """
    reports: list[Patch] = []
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
    return None if last is None else PatchPage(joined(folded(reports)), last)


Mark: TypeAlias = tuple[str, int]
"""When a session was last used, and its number, which tells apart those of one moment: lists are sorted by this."""

_read_mark = msgspec.json.Decoder(tuple[str, Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]]).decode


def session_page(found: Sequence[tuple[Mark, SessionSummary]], limit: int) -> SessionPage:
    """A page of at most `limit` sessions; one more than that was looked for, to know whether there is another page."""
    more = _cursor(found[limit - 1][0]) if len(found) > limit else None
    return SessionPage(sessions=[session for _, session in found[:limit]], next_cursor=more)


def begins_before(cursor: str | None, limit: int) -> Mark | None:
    """The last session of the page before, None for the first page; raises InvalidParams for a foreign cursor."""
    if limit < 1:
        raise ValueError("limit must be at least 1")
    if cursor is None:
        return None
    try:
        return _read_mark(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError) as error:  # letters outside ASCII, and what msgspec raises, are ValueErrors
        raise InvalidParams("it is none of this agent's cursors; list again without one", "cursor") from error


def _cursor(mark: Mark) -> str:
    return urlsafe_b64encode(msgspec.json.encode(mark)).decode().rstrip("=")
