"""Where a list of sessions goes on. A cursor is opaque to whoever holds it, and worth nothing to keep."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec

from accord.errors import InvalidParams
from accord.session.requests import SessionPage, SessionSummary

__all__ = ["Mark", "begins_before", "session_page"]

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
