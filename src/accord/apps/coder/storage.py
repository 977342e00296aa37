"""Saves sessions and always-answers in the user's files; if those can't be written, keeps them in memory.

Law: a full or read-only disk fails no turn. The user is told once which file it is, why, and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from accord.apps.coder.settings.files import display_path
from accord.errors import NotFound, RequestFailed, SessionExists, StoreFailed
from accord.session.requests import SessionPage
from accord.session.updates import Patch
from accord.store.memory import MemoryStore
from accord.store.store import PAGE, Claim, Owner, Patches, SessionRecord, in_use

if TYPE_CHECKING:
    from accord.store.sqlite import SqliteStore

log = logging.getLogger("accord.coder")


class FallbackStore:
    """A `Store` in a file, with sessions in memory while the file can't be written."""

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        self._path = path
        self._patience = patience
        self._memory = MemoryStore()
        self._in_memory: set[str] = set()
        self._has_failed = False
        self._warning: str | None = None

    @cached_property
    def _file(self) -> SqliteStore:
        from accord.store.sqlite import SqliteStore  # noqa: PLC0415  # the first session pays for it

        return SqliteStore(self._path, patience=self._patience)

    def take_warning(self) -> str | None:
        """A line for the user, returned once."""
        warning, self._warning = self._warning, None
        return warning

    async def create(self, kept: SessionRecord) -> SessionRecord:
        """See `Store.create`."""
        with _on_failure(self._warn):
            return await self._file.create(kept)
        self._in_memory.add(kept.session_id)
        return await self._memory.create(kept)

    async def find(self, session_id: str) -> SessionRecord | None:
        """See `Store.find`."""
        if session_id in self._in_memory:
            return await self._memory.find(session_id)
        with _on_failure(self._warn_if_empty):
            return await self._file.find(session_id)
        return None

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """See `Store.claim`; an unclaimed session that can't be claimed continues in memory, with its history."""
        if session_id not in self._in_memory:
            try:
                return await self._file.claim(session_id, owner, take_over)
            except StoreFailed as failed:
                if take_over:
                    raise _request_failed(failed) from failed
                await self._continue_in_memory(session_id, owner, failed)
        return await self._memory.claim(session_id, owner, take_over)

    async def _continue_in_memory(self, session_id: str, owner: Owner, failed: StoreFailed) -> None:
        record = await self.find(session_id)
        if record is None:
            raise NotFound(session_id=session_id)
        holder = await self._file.holder(session_id)
        if holder is not None and holder.owner != owner:
            raise in_use(holder)
        await self._copy_to_memory(session_id, record)
        self._warn(failed)

    async def renew(self, claim: Claim) -> None:
        """See `Store.renew`."""
        with _on_failure(self._warn):
            await self._store_of(claim.session_id).renew(claim)

    async def release(self, claim: Claim) -> None:
        """See `Store.release`."""
        await self._store_of(claim.session_id).release(claim)

    async def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        """See `Store.update`."""
        with _on_failure(self._warn):
            return await self._store_of(kept.session_id).update(claim, kept)
        return kept

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE, *, user: str | None = None
    ) -> SessionPage:
        """See `Store.list`; the few in memory come first."""
        page = SessionPage(sessions=[])
        with _on_failure(self._warn_if_empty):
            page = await self._file.list(cwd, cursor, limit, user=user)
        page.sessions = [each for each in page.sessions if each.session_id not in self._in_memory]
        if cursor is None and self._in_memory:
            in_memory = await self._memory.list(cwd, limit=len(self._in_memory), user=user)
            page.sessions = [*in_memory.sessions, *page.sessions]
        return page

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        """See `Store.append`."""
        with _on_failure(self._warn):
            self._store_of(claim.session_id).append(claim, reports)

    async def commit(self, claim: Claim | None = None) -> None:
        """See `Store.commit`; a write that failed is tried again with the next."""
        with _on_failure(self._warn):
            await (self._file if claim is None else self._store_of(claim.session_id)).commit(claim)

    async def read(self, session_id: str) -> AsyncIterator[Patches]:
        """See `Store.read`."""
        try:
            async for patches in self._store_of(session_id).read(session_id):
                yield patches
        except StoreFailed as failed:
            raise _request_failed(failed) from failed

    async def fork(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """See `Store.fork`."""
        if session_id not in self._in_memory:
            with _on_failure(self._warn):
                return await self._file.fork(session_id, kept)
        return await self._copy_to_memory(session_id, kept)

    async def _copy_to_memory(self, session_id: str, record: SessionRecord) -> SessionRecord:
        """Create a session in memory with the history of another one, or with its own from the file."""
        history = [patches async for patches in self.read(session_id)]
        new = await self._memory.create(record)
        self._in_memory.add(new.session_id)
        claim = await self._memory.claim(new.session_id, Owner.here())
        for patches in history:
            self._memory.append(claim, patches)
        await self._memory.release(claim)
        return new

    async def delete(self, session_id: str) -> None:
        """See `Store.delete`; one that continues in memory is deleted in the file, too."""
        is_in_memory = session_id in self._in_memory
        with _on_failure(self._warn_if_empty):
            if not is_in_memory or await self._file.find(session_id) is not None:
                await self._file.delete(session_id)
        if is_in_memory:
            await self._memory.delete(session_id)
            self._in_memory.discard(session_id)

    async def aclose(self) -> None:
        """See `Store.aclose`; the file store logs what could not be written."""
        try:
            if "_file" in self.__dict__:  # otherwise it was never used
                await self._file.aclose()
        except StoreFailed as failed:
            log.debug("%s", failed)
        finally:
            await self._memory.aclose()

    def _store_of(self, session_id: str) -> SqliteStore | MemoryStore:
        return self._memory if session_id in self._in_memory else self._file

    def _warn_if_empty(self, failed: StoreFailed) -> None:
        """Without a file there are no sessions; but a file that can't be read must not pass for an empty one."""
        if not _is_empty(Path(failed.store)):
            raise _request_failed(failed) from failed
        self._warn(failed)

    def _warn(self, failed: StoreFailed) -> None:
        if self._has_failed:
            return
        self._has_failed = True
        self._warning = (
            f"{display_path(Path(failed.store))} can't be written ({failed.reason}); sessions are kept in memory until the "
            "agent exits. ACCORD_HOME chooses another directory"
        )
        log.warning("%s", self._warning)


@contextmanager
def _on_failure(handle: Callable[[StoreFailed], None]) -> Generator[None]:
    """A context in which a failure of the store goes to `handle`, and what follows the context is the fallback."""
    try:
        yield
    except SessionExists:
        raise
    except StoreFailed as failed:
        handle(failed)


class SessionChoices(MutableMapping[str, bool]):
    """The always-answers of a session: the saved ones, and those that could not be saved."""

    def __init__(self, saved: MutableMapping[str, bool]) -> None:
        self._saved = saved
        self._unsaved: dict[str, bool] = {}

    def __getitem__(self, scope: str) -> bool:
        return self._unsaved[scope] if scope in self._unsaved else self._saved[scope]

    def __setitem__(self, scope: str, allowed: bool) -> None:
        try:
            self._saved[scope] = allowed
        except OSError as error:
            log.warning("an always-answer could not be saved and holds for this session only: %s", error)
            self._unsaved[scope] = allowed
        else:
            self._unsaved.pop(scope, None)

    def __delitem__(self, scope: str) -> None:
        was_unsaved = self._unsaved.pop(scope, None) is not None
        if not was_unsaved or scope in self._saved:  # another process may have saved it meanwhile
            del self._saved[scope]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._saved, **self._unsaved})

    def __len__(self) -> int:
        return len({**self._saved, **self._unsaved})


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it may contain anything
        return False


def _request_failed(failed: StoreFailed) -> RequestFailed:
    reason = f"{display_path(Path(failed.store))} can't be used: {failed.reason}"
    advice = "Repair that file or its directory; ACCORD_HOME chooses another directory"
    return RequestFailed(-32603, reason, {"reason": "store_failed", "advice": advice})
