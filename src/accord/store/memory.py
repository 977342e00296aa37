"""A store that lasts as long as the process: for tests, and for agents whose sessions nobody takes up again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import Self

from accord.errors import NotFound, SessionExists, StoreClosed
from accord.session.requests import SessionPage
from accord.session.updates import Patch
from accord.store.paging import Mark, begins_before, page_of, session_page
from accord.store.store import PAGE, Claim, Owner, Patches, SessionRecord, dated, fenced, in_use, now, settled, updated
from accord.store.write_buffer import Entry, Window, taken

_NAME = "in memory"
_FULL = 64 * 1024


class _Session:
    __slots__ = ("claim", "entries", "kept", "number")

    def __init__(self, number: int, kept: SessionRecord, entries: list[Entry]) -> None:
        self.claim: Claim | None = None
        self.number = number
        self.kept = kept
        self.entries = entries

    @property
    def mark(self) -> Mark:
        return (self.kept.updated_at or "", self.number)


class MemoryStore:
    """A `Store` in memory. It holds words as they would be written, so it accepts and returns what the others do."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._window = Window()
        self._count = 0
        self._epoch = 0
        self._closed = False

    async def create(self, kept: SessionRecord) -> SessionRecord:
        """See `Store.create`."""
        self._settle()
        return self._keep(kept, ())

    async def find(self, session_id: str) -> SessionRecord | None:
        """See `Store.find`."""
        self._settle()
        session = self._sessions.get(session_id)
        return None if session is None else settled(session.kept)

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """See `Store.claim`; an owner in memory lives as long as the store."""
        self._settle()
        session = self._session(session_id)
        if session.claim is not None and session.claim.owner == owner:
            return session.claim
        if session.claim is not None and not take_over:
            raise in_use(session.claim)
        self._epoch += 1
        session.claim = Claim(session_id, owner, self._epoch, now())
        return session.claim

    async def renew(self, claim: Claim) -> None:
        """See `Store.renew`."""
        self._settle()
        self._claimed(claim)

    async def release(self, claim: Claim) -> None:
        """See `Store.release`."""
        self._settle()
        session = self._sessions.get(claim.session_id)
        if session is not None and session.claim == claim:
            session.claim = None

    async def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        """See `Store.update`."""
        self._settle()
        session = self._claimed(claim)
        before = session.kept
        session.kept = updated(settled(kept), before.created_at or "", before.updated_at or "")
        return settled(session.kept)

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE, *, user: str | None = None
    ) -> SessionPage:
        """See `Store.list`."""
        self._settle()
        before = begins_before(cursor, limit)
        found = [
            (session.mark, session.kept)
            for session in self._sessions.values()
            if cwd in (None, session.kept.cwd)
            and user in (None, session.kept.user)
            and (before is None or session.mark < before)
        ]
        found.sort(key=lambda line: line[0], reverse=True)
        return session_page([(mark, settled(kept)) for mark, kept in found[: limit + 1]], limit)

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        """See `Store.append`."""
        self._check_open()
        session = self._sessions.get(claim.session_id)
        if session is not None and session.claim is not claim and session.claim != claim:
            raise fenced(claim.session_id, session.claim)
        self._window.add((claim.session_id, claim.epoch), *taken(reports))
        if self._window.weight > _FULL:
            self._settle()

    async def commit(self, claim: Claim | None = None) -> None:
        """See `Store.commit`; as safe as anything in memory is."""
        self._settle()
        if claim is not None:
            self._claimed(claim)

    async def read(self, session_id: str) -> AsyncIterator[Patches]:
        """See `Store.read`."""
        self._settle()
        session = self._session(session_id)
        end = len(session.entries)
        place = 0
        while place < end:
            self._check_open()
            if self._sessions.get(session_id) is not session:
                raise NotFound(session_id=session_id)
            entries = enumerate(islice(session.entries, place, end), place + 1)
            page = page_of(((number, entry.form, entry.reports) for number, entry in entries), _NAME, session_id)
            if page is not None:
                place = page.last
                yield page.reports

    async def fork(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """See `Store.fork`."""
        self._settle()
        return self._keep(kept, self._session(session_id).entries)

    async def delete(self, session_id: str) -> None:
        """See `Store.delete`."""
        self._settle()
        session = self._sessions.get(session_id)
        if session is not None and session.claim is not None:
            raise in_use(session.claim)
        self._sessions.pop(session_id, None)

    async def aclose(self) -> None:
        """See `Store.aclose`; the sessions are gone with it."""
        self._closed = True
        self._sessions.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def _keep(self, kept: SessionRecord, entries: Iterable[Entry]) -> SessionRecord:
        if kept.session_id in self._sessions:
            raise SessionExists(_NAME, kept.session_id)
        self._count += 1
        session = self._sessions[kept.session_id] = _Session(self._count, dated(kept), [*entries])
        return settled(session.kept)

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise NotFound(session_id=session_id)
        return session

    def _claimed(self, claim: Claim) -> _Session:
        session = self._session(claim.session_id)
        if session.claim != claim:
            raise fenced(claim.session_id, session.claim)
        return session

    def _settle(self) -> None:
        self._check_open()
        if not self._window:
            return
        for (session_id, _), entries in self._window.close().entries().items():
            session = self._sessions.get(session_id)
            if session is not None:
                session.entries += entries
                session.kept.updated_at = max(session.kept.updated_at or "", now())

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(_NAME)
