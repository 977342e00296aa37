"""What is kept of a session besides its history, and its times."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from accord.session.requests import SessionSummary
from accord.store.formats import copied

__all__ = ["Kept", "dated", "now", "seconds_since", "settled", "updated"]


class Kept(SessionSummary):
    """A session as a store keeps it; it goes into a `SessionPage` as it is.

    The times are in UTC (`2026-01-02T03:04:05.000006Z`) and the store's own business: those left out are set when the
    session is created, and each report moves `updated_at` on.
    """

    created_at: str | None = None


def now() -> str:
    """This moment, in the form that sorts as text."""
    return _told(datetime.now(UTC))


def seconds_since(time: str) -> float:
    """How long ago a time that `now` gave was; of one that can't be read, for ever."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
    except (TypeError, ValueError):
        return float("inf")


def settled(kept: Kept) -> Kept:
    """A copy that shares nothing with its original and can be written; raises Unencodable."""
    return copied(kept)


def dated(kept: Kept) -> Kept:
    """A settled copy with both times, in the form that sorts as text."""
    new = settled(kept)
    new.created_at = now() if kept.created_at is None else _normal(kept.created_at)
    new.updated_at = new.created_at if kept.updated_at is None else _normal(kept.updated_at)
    return new


def updated(kept: Kept, created_at: str, updated_at: str) -> Kept:
    """A copy with the times of the stored one, moved on to what this one says, or else to this moment; never back."""
    told = now() if kept.updated_at is None else _normal(kept.updated_at)
    return replace(kept, created_at=created_at, updated_at=max(updated_at, told))


def _normal(time: str) -> str:
    moment = datetime.fromisoformat(time)
    return _told(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
