"""What a place for sessions can do. Whatever keeps this promise can stand behind an agent.

A session has two parts: what is `Kept` about it, and its journal: everything that was reported in it, in order, as
session words. Applied to a fresh `Transcript`, the words of a journal give the transcript that the session had.

Laws: what `commit` has acknowledged survives the end of the process, however it ends; what was appended is committed
at most 50 ms later even when nobody asks; of what was not committed, a beginning survives and never a part without
what came before it. A store that has been closed lets nobody wait. Only the newest claim of a session writes to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Protocol, TypeAlias

from accord.session.requests import SessionPage
from accord.session.updates import Report
from accord.store.claims import Claim, Owner
from accord.store.kept import Kept

__all__ = ["PAGE", "Reports", "Store"]

PAGE = 50
"""How many sessions are listed at a time."""

Reports: TypeAlias = list[Report]


class Store(Protocol):
    """Calls take effect in the order in which they were made; `append` belongs to that order."""

    async def create(self, kept: Kept) -> Kept:
        """Keep a new session, with an empty journal; raises SessionExists. What is returned has its times."""
        ...

    async def find(self, session_id: str) -> Kept | None:
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

    async def update(self, claim: Claim, kept: Kept) -> Kept:
        """Keep something else about a session, except for when it was created; raises NotFound and Fenced."""
        ...

    async def list(self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE) -> SessionPage:
        """The sessions of one directory or of all, last used first; raises InvalidParams for a cursor it never gave.

        Walking through the pages meets every session once that was not used meanwhile.
        """
        ...

    def append(self, claim: Claim, reports: Iterable[Report]) -> None:
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

    def read(self, session_id: str) -> AsyncIterator[Reports]:
        """What was reported until now, a bounded amount at a time; raises NotFound, also when it is deleted meanwhile.

        Pieces of one text that follow each other come joined, so there are far fewer than were appended.
        """
        ...

    async def fork(self, session_id: str, kept: Kept) -> Kept:
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
