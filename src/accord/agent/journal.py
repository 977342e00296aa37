"""The journal of a session: its records in the store, and the claim under which they are written.

Law: patches are stored in order, and `commit` returns when they are on disk. When another process has taken the session
over, it is lost here: nothing more is stored, and whoever sends an update gets an error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, TypeVar

from accord.errors import Fenced, RequestFailed, StoreFailed
from accord.session.updates import Patch

if TYPE_CHECKING:
    from accord.store.store import Claim, Owner, Store

log = logging.getLogger("accord.agent")

T = TypeVar("T")


class Journal:
    """Without a store nothing is stored."""

    def __init__(self, session_id: str, store: Store | None) -> None:
        self.lost: Fenced | None = None
        """Why nothing more is stored: another process has taken the session over."""
        self.on_lost: Callable[[Fenced], None] = _ignore
        self._session_id = session_id
        self._store = store
        self._claim: Claim | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def claim(self, owner: Owner, *, take_over: bool = False) -> None:
        """Claim the right to write; it is renewed until `close`."""
        if self._store is None:
            return
        self._claim = await self._store.claim(self._session_id, owner, take_over)
        lease = self._claim.lease
        if lease is not None:
            self._renewal = asyncio.create_task(self._keep_claim(lease / 3))

    @property
    def is_open(self) -> bool:
        """Whether patches are stored: there is a store, and the claim is held."""
        return self._claim is not None

    def append(self, patch: Patch) -> None:
        """Store a patch; nothing without a claim."""
        if self._claim is not None and self._store is not None:
            try:
                self._store.append(self._claim, (patch,))
            except Fenced as fenced:
                self._lose(fenced)

    def check(self) -> None:
        """Raise if the session is lost."""
        if self.lost is not None:
            raise copy(self.lost)

    async def commit(self) -> None:
        """Return when every patch is on disk."""
        if self._claim is not None and self._store is not None:
            await self._check_claim(self._store.commit(self._claim))
        self.check()

    async def rename(self, title: str | None) -> None:
        """Give the session this title in the store's list."""
        if self._store is None:
            return
        record = await self._store.find(self._session_id)
        if record is not None and self._claim is not None:
            record.title, record.updated_at = title, None
            await self._check_claim(self._store.update(self._claim, record))

    async def renew(self) -> None:
        """Tell the store that the session is still in use."""
        if self._claim is not None and self._store is not None:
            await self._check_claim(self._store.renew(self._claim))

    async def is_lost(self) -> bool:
        """Whether another process has taken the session over; asks the store."""
        with suppress(Fenced, StoreFailed):  # checked again before anything is stored
            await self.renew()
        return self.lost is not None

    def stop_renewing(self) -> None:
        """Call before the claim is released."""
        if self._renewal is not None:
            self._renewal.cancel()

    async def close(self) -> None:
        """Release the claim; the records stay in the store for the next owner."""
        self.stop_renewing()
        claim, self._claim = self._claim, None
        if claim is not None and self._store is not None:
            try:
                await self._store.release(claim)
            except StoreFailed as failed:
                log.warning("session %s stays claimed until this process ends: %s", self._session_id, failed)

    async def _keep_claim(self, seconds: float) -> None:
        """A turn that sends nothing learns by this that another process has taken the session over."""
        while self.lost is None:
            await asyncio.sleep(seconds)
            try:
                await self.renew()
            except (RequestFailed, StoreFailed) as error:
                log.warning("could not renew the claim of session %s: %s", self._session_id, error)

    async def _check_claim(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except Fenced as fenced:
            self._lose(fenced)
            raise

    def _lose(self, fenced: Fenced) -> None:
        if self.lost is None:
            self.lost, self._claim = fenced, None
            self.on_lost(fenced)


def _ignore(fenced: Fenced) -> None: ...
