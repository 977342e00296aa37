"""The interface of a session store, and the record it keeps of each session.

A session has two parts: what is `SessionRecord` about it, and its journal: everything that was reported in it, in order, as
session words. Applied to a fresh `Transcript`, the words of a journal give the transcript that the session had.

Laws: what `commit` has acknowledged survives the end of the process, however it ends; what was appended is committed
at most 50 ms later even when nobody asks; of what was not committed, a beginning survives and never a part without
what came before it. A store that has been closed lets nobody wait. Only the newest claim of a session writes to it.

A claim is the right of one owner at a time to write to a session. Law: its epoch is higher than that of every claim before
it, of whatever session. A store takes nothing from a claim that is not the newest of its session, so an owner that was
taken over can't write, however late it notices.
"""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.errors import Fenced, SessionInUse
from accord.session.requests import SessionPage, SessionSummary
from accord.session.updates import Patch
from accord.store.row_formats import copied


class Owner(Struct, frozen=True):
    """Somebody who claims sessions: an agent in a process. All connections of the agent are one owner."""

    id: str
    pid: int
    host: str
    boot: str
    """The same for all processes that a lock of this system can be seen by."""

    @classmethod
    def here(cls) -> Owner:
        """A new owner in this process."""
        return cls(os.urandom(12).hex(), os.getpid(), platform.node(), _boot())


class Claim(Struct, frozen=True):
    """The right to write to a session, until it is released or taken over."""

    session_id: str
    owner: Owner
    epoch: int
    since: str
    lease: float | None = None
    """Seconds within which it has to be renewed; None when it lasts without that."""

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from every other claim."""
        return self.session_id, self.epoch


def in_use(claim: Claim) -> SessionInUse:
    """The refusal of whoever else wants the session."""
    return SessionInUse(claim.session_id, claim.owner.pid, claim.owner.host, claim.since)


def fenced(session_id: str, holder: Claim | None) -> Fenced:
    """The refusal of a claim that is over; `holder` is the one there is now."""
    if holder is None:
        return Fenced(session_id)
    return Fenced(session_id, holder.owner.pid, holder.owner.host, holder.since)


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()  # containers of one machine share it
    except (OSError, ValueError):
        return platform.node()


PAGE = 50
"""How many sessions are listed at a time."""

Patches: TypeAlias = list[Patch]


class Store(Protocol):
    """Calls take effect in the order in which they were made; `append` belongs to that order."""

    async def create(self, kept: SessionRecord) -> SessionRecord:
        """Keep a new session, with an empty journal; raises SessionExists. What is returned has its times."""
        ...

    async def find(self, session_id: str) -> SessionRecord | None:
        """What is kept about a session."""
        ...

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """The right to write to a session; the same one again for the owner that has it. Raises NotFound.

        Raises SessionInUse while another owner has it, unless that one's process is gone, or `take_over` is said: then
        the claim of the other one is worth nothing from this moment on.
        """
        ...

    async def renew(self, claim: Claim) -> None:
        """Say that the owner is alive, where it can't be seen otherwise; raises Fenced when the claim is over."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the claim back, after all that was appended is safe. Safe to call twice, and when it is over.

        Raises StoreFailed when that can't be done now. Then nothing is dropped: it is done as soon as it can be, and until
        then the session has this owner.
        """
        ...

    async def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        """Keep something else about a session, except for when it was created; raises NotFound and Fenced."""
        ...

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE, *, user: str | None = None
    ) -> SessionPage:
        """The sessions of one directory or of all, and of one user or of all, last used first.

        Raises InvalidParams for a cursor it never gave.

        Walking through the pages meets every session once that was not used meanwhile.
        """
        ...

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        """Write down what was reported: all of it or, when it raises, nothing.

        Cheap: it never waits. Words are taken as they are at this moment. Raises Unencodable for what could not be
        read back, StoreFailed when far too much waits to be written, and Fenced as soon as it is known that the claim is
        over. What is appended until then, or reported in a session that is not there, is dropped; `commit` tells.
        """
        ...

    async def commit(self, claim: Claim | None = None) -> None:
        """Return when all that was appended is safe, with whatever claim.

        Raises Fenced if the given claim is over, since not all of it was kept then, and NotFound if its session is not
        there any more.
        """
        ...

    def read(self, session_id: str) -> AsyncIterator[Patches]:
        """What was reported until now, a bounded amount at a time; raises NotFound, also when it is deleted meanwhile.

        Pieces of one text that follow each other come joined, so there are far fewer than were appended.
        """
        ...

    async def fork(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """Keep a new session that has the history of another one; raises NotFound and SessionExists."""
        ...

    async def delete(self, session_id: str) -> None:
        """Remove a session and its history, beyond recovery where the store can. Safe to call twice.

        Raises SessionInUse while somebody has claimed it.
        """
        ...

    async def aclose(self) -> None:
        """Commit what was appended, release the claims and everything else in bounded time.

        Safe to call twice, and from any task.
        """
        ...


class SessionRecord(SessionSummary):
    """A session as a store keeps it; it goes into a `SessionPage` as it is.

    The times are in UTC (`2026-01-02T03:04:05.000006Z`) and the store's own business: those left out are set when the
    session is created, and each report moves `updated_at` on.
    """

    created_at: str | None = None
    user: str | None = None
    """Whose session it is, where an agent has users."""


def now() -> str:
    """This moment, in the form that sorts as text."""
    return _told(datetime.now(UTC))


def seconds_since(time: str) -> float:
    """How long ago a time that `now` gave was; of one that can't be read, for ever."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
    except (TypeError, ValueError):
        return float("inf")


def settled(kept: SessionRecord) -> SessionRecord:
    """A copy that shares nothing with its original and can be written; raises Unencodable."""
    return copied(kept)


def dated(kept: SessionRecord) -> SessionRecord:
    """A settled copy with both times, in the form that sorts as text."""
    new = settled(kept)
    new.created_at = now() if kept.created_at is None else _normal(kept.created_at)
    new.updated_at = new.created_at if kept.updated_at is None else _normal(kept.updated_at)
    return new


def updated(kept: SessionRecord, created_at: str, updated_at: str) -> SessionRecord:
    """A copy with the times of the stored one, moved on to what this one says, or else to this moment; never back."""
    told = now() if kept.updated_at is None else _normal(kept.updated_at)
    return replace(kept, created_at=created_at, updated_at=max(updated_at, told))


def _normal(time: str) -> str:
    moment = datetime.fromisoformat(time)
    return _told(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
