"""The journal of a session: its part of the store, and the claim under which that is written.

Law: what the journal has taken is kept in order, and `commit` returns when it is safe. A session that another process
has taken over is lost here: nothing more of it is kept, and whoever reports something learns that.
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
    from accord.store.claims import Claim, Owner
    from accord.store.store import Store

__all__ = ["Journal"]

log = logging.getLogger("accord.agent")

T = TypeVar("T")


class Journal:
    """Without a store it keeps nothing."""

    def __init__(self, session_id: str, store: Store | None) -> None:
        self.lost: Fenced | None = None
        """Why nothing more is kept: another process has taken the session over."""
        self.on_lost: Callable[[Fenced], None] = _ignore
        self._session_id = session_id
        self._store = store
        self._claim: Claim | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def claim(self, owner: Owner, *, take_over: bool = False) -> None:
        """Get the right to write; it is renewed until `close`."""
        if self._store is None:
            return
        self._claim = await self._store.claim(self._session_id, owner, take_over)
        lease = self._claim.lease
        if lease is not None:
            self._renewal = asyncio.create_task(self._keep_claim(lease / 3))

    def append(self, report: Patch) -> None:
        """Take it down; nothing without a claim."""
        if self._claim is not None and self._store is not None:
            try:
                self._store.append(self._claim, (report,))
            except Fenced as fenced:
                self._lose(fenced)

    def check(self) -> None:
        """Raise if the session is lost."""
        if self.lost is not None:
            raise copy(self.lost)

    async def commit(self) -> None:
        """Return when all that was taken down is safe."""
        if self._claim is not None and self._store is not None:
            await self._claimed(self._store.commit(self._claim))
        self.check()

    async def rename(self, title: str | None) -> None:
        """Give the session this title in the store's list."""
        if self._store is None:
            return
        kept = await self._store.find(self._session_id)
        if kept is not None and self._claim is not None:
            kept.title, kept.updated_at = title, None
            await self._claimed(self._store.update(self._claim, kept))

    async def renew(self) -> None:
        """Tell the store that the session is still in use."""
        if self._claim is not None and self._store is not None:
            await self._claimed(self._store.renew(self._claim))

    async def is_lost(self) -> bool:
        """Whether another process has it, noticed or not."""
        with suppress(Fenced, StoreFailed):  # what can't be asked now is asked again before anything is kept
            await self.renew()
        return self.lost is not None

    def stop_renewing(self) -> None:
        """The claim is about to be released."""
        if self._renewal is not None:
            self._renewal.cancel()

    async def close(self) -> None:
        """Give the claim back; what was taken down stays in the store, for whoever claims it next."""
        self.stop_renewing()
        claim, self._claim = self._claim, None
        if claim is not None and self._store is not None:
            try:
                await self._store.release(claim)
            except StoreFailed as failed:
                log.warning("the session %s stays claimed until this process ends: %s", self._session_id, failed)

    async def _keep_claim(self, seconds: float) -> None:
        """A turn that tells nothing learns by this that another process has taken the session over."""
        while self.lost is None:
            await asyncio.sleep(seconds)
            try:
                await self.renew()
            except (RequestFailed, StoreFailed) as error:
                log.warning("the claim of the session %s was not renewed: %s", self._session_id, error)

    async def _claimed(self, work: Awaitable[T]) -> T:
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
