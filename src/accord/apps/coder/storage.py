"""Where the coding agent keeps sessions and choices: in the user's files and, where they can't be written, in memory.

Law: a disk that is full or read-only costs no turn. It is told once which file it is, why, and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, MutableMapping
from pathlib import Path

from accord.apps.coder.settings.directories import shown_path
from accord.errors import NotFound, RequestFailed, SessionExists, StoreFailed
from accord.session.requests import SessionPage
from accord.session.updates import Patch
from accord.store.claims import Claim, Owner, in_use
from accord.store.memory import MemoryStore
from accord.store.sqlite import SqliteStore
from accord.store.store import PAGE, Patches, SessionRecord

__all__ = ["FallbackStore", "SessionChoices"]

log = logging.getLogger("accord.coder")


class FallbackStore:
    """A `Store` for whoever wants to work on, whatever becomes of the disk."""

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        self._file = SqliteStore(path, patience=patience)
        self._memory = MemoryStore()
        self._in_memory: set[str] = set()
        self._has_failed = False
        self._untold: str | None = None

    def take_untold(self) -> str | None:
        """A line that the user has yet to be told: given once."""
        untold, self._untold = self._untold, None
        return untold

    async def create(self, kept: SessionRecord) -> SessionRecord:
        """See `Store.create`."""
        try:
            return await self._file.create(kept)
        except SessionExists:
            raise
        except StoreFailed as failed:
            self._tell(failed)
        self._in_memory.add(kept.session_id)
        return await self._memory.create(kept)

    async def find(self, session_id: str) -> SessionRecord | None:
        """See `Store.find`."""
        if session_id in self._in_memory:
            return await self._memory.find(session_id)
        try:
            return await self._file.find(session_id)
        except StoreFailed as failed:
            self._check_there_is_none(failed)
            return None

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """See `Store.claim`; a session that nobody has and that can't be claimed goes on in memory, with its history."""
        if session_id not in self._in_memory:
            try:
                return await self._file.claim(session_id, owner, take_over)
            except StoreFailed as failed:
                if take_over:
                    raise _refused(failed) from failed
                await self._go_on_in_memory(session_id, owner, failed)
        return await self._memory.claim(session_id, owner, take_over)

    async def _go_on_in_memory(self, session_id: str, owner: Owner, failed: StoreFailed) -> None:
        kept = await self.find(session_id)
        if kept is None:
            raise NotFound(session_id=session_id)
        holder = await self._file.holder(session_id)
        if holder is not None and holder.owner != owner:
            raise in_use(holder)
        await self._copy_to_memory(session_id, kept)
        self._tell(failed)

    async def renew(self, claim: Claim) -> None:
        """See `Store.renew`."""
        if claim.session_id in self._in_memory:
            return
        try:
            await self._file.renew(claim)
        except StoreFailed as failed:
            self._tell(failed)

    async def release(self, claim: Claim) -> None:
        """See `Store.release`."""
        await (self._memory if claim.session_id in self._in_memory else self._file).release(claim)

    async def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        """See `Store.update`."""
        if kept.session_id in self._in_memory:
            return await self._memory.update(claim, kept)
        try:
            return await self._file.update(claim, kept)
        except StoreFailed as failed:
            self._tell(failed)
            return kept

    async def list(self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE) -> SessionPage:
        """See `Store.list`; those in memory, which are few, come first."""
        try:
            page = await self._file.list(cwd, cursor, limit)
        except StoreFailed as failed:
            self._check_there_is_none(failed)
            page = SessionPage(sessions=[])
        page.sessions = [each for each in page.sessions if each.session_id not in self._in_memory]
        if cursor is None and self._in_memory:
            here = await self._memory.list(cwd, limit=len(self._in_memory))
            page.sessions = [*here.sessions, *page.sessions]
        return page

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        """See `Store.append`."""
        if claim.session_id in self._in_memory:
            self._memory.append(claim, reports)
            return
        try:
            self._file.append(claim, reports)
        except StoreFailed as failed:
            self._tell(failed)

    async def commit(self, claim: Claim | None = None) -> None:
        """See `Store.commit`; what could not be written is tried again with the next."""
        if claim is not None and claim.session_id in self._in_memory:
            await self._memory.commit(claim)
            return
        try:
            await self._file.commit(claim)
        except StoreFailed as failed:
            self._tell(failed)

    async def read(self, session_id: str) -> AsyncIterator[Patches]:
        """See `Store.read`."""
        try:
            async for reports in (self._memory if session_id in self._in_memory else self._file).read(session_id):
                yield reports
        except StoreFailed as failed:
            raise _refused(failed) from failed

    async def fork(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """See `Store.fork`."""
        if session_id not in self._in_memory:
            try:
                return await self._file.fork(session_id, kept)
            except SessionExists:
                raise
            except StoreFailed as failed:
                self._tell(failed)
        return await self._copy_to_memory(session_id, kept)

    async def _copy_to_memory(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """Keep a session in memory that has the history of another one, or of its own in the file."""
        history = [reports async for reports in self.read(session_id)]
        new = await self._memory.create(kept)
        self._in_memory.add(new.session_id)
        claim = await self._memory.claim(new.session_id, Owner.here())
        for reports in history:
            self._memory.append(claim, reports)
        await self._memory.release(claim)
        return new

    async def delete(self, session_id: str) -> None:
        """See `Store.delete`; one that goes on in memory is deleted in the file, too."""
        is_here = session_id in self._in_memory
        try:
            if not is_here or await self._file.find(session_id) is not None:
                await self._file.delete(session_id)
        except StoreFailed as failed:
            self._check_there_is_none(failed)
        if is_here:
            await self._memory.delete(session_id)
            self._in_memory.discard(session_id)

    async def aclose(self) -> None:
        """See `Store.aclose`; the file's own log says what could not be written."""
        try:
            await self._file.aclose()
        except StoreFailed as failed:
            log.debug("%s", failed)
        finally:
            await self._memory.aclose()

    def _check_there_is_none(self, failed: StoreFailed) -> None:
        """Where there is no file, nothing was kept; what can't be read in one that is there must not pass for nothing."""
        if not _is_empty(Path(failed.store)):
            raise _refused(failed) from failed
        self._tell(failed)

    def _tell(self, failed: StoreFailed) -> None:
        if self._has_failed:
            return
        self._has_failed = True
        self._untold = (
            f"{shown_path(Path(failed.store))} can't be written ({failed.reason}), so sessions are kept in memory, "
            "until the agent ends; ACCORD_HOME chooses another directory"
        )
        log.warning("%s", self._untold)


class SessionChoices(MutableMapping[str, bool]):
    """A session's choices: those that are kept, and those that hold for the session because they could not be."""

    def __init__(self, kept: MutableMapping[str, bool]) -> None:
        self._kept = kept
        self._of_session: dict[str, bool] = {}

    def __getitem__(self, scope: str) -> bool:
        return self._of_session[scope] if scope in self._of_session else self._kept[scope]

    def __setitem__(self, scope: str, allowed: bool) -> None:
        try:
            self._kept[scope] = allowed
        except OSError as error:
            log.warning("a choice for always holds for this session only: %s", error)
            self._of_session[scope] = allowed
        else:
            self._of_session.pop(scope, None)

    def __delitem__(self, scope: str) -> None:
        was_here = self._of_session.pop(scope, None) is not None
        if not was_here or scope in self._kept:  # somebody else may have kept it meanwhile
            del self._kept[scope]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._kept, **self._of_session})

    def __len__(self) -> int:
        return len({**self._kept, **self._of_session})


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # who knows what is there
        return False


def _refused(failed: StoreFailed) -> RequestFailed:
    reason = f"{shown_path(Path(failed.store))} can't be used: {failed.reason}"
    advice = "Mend that file or its directory; ACCORD_HOME chooses another directory"
    return RequestFailed(-32603, reason, {"reason": "store_failed", "advice": advice})
