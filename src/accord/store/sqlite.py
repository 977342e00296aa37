"""Sessions in a SQLite file, which several processes may use at the same time.

Law: what is appended is written at the latest when its window closes, by a thread that depends on no event loop; so
even in a program that is stuck, `kill -9` costs no more than the window.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from copy import copy
from time import monotonic, sleep
from typing import Self, TypeVar

from accord.errors import Fenced, StoreClosed, StoreFailed
from accord.local.paths import expand_path, path_error
from accord.session.requests import SessionPage
from accord.session.updates import Patch
from accord.store.paging import begins_before, session_page
from accord.store.statements import Tables, is_busy
from accord.store.store import PAGE, Claim, Owner, Patches, SessionRecord, dated, settled
from accord.store.worker_thread import Worker
from accord.store.write_buffer import Key, Window, taken

log = logging.getLogger("accord.store")

T = TypeVar("T")

UNWRITTEN = 64 * 1024 * 1024
"""Bytes that may wait for a disk that does not take them, before `append` refuses more."""

_AGAIN = 0.05


class SqliteStore:
    """A `Store` in a file that only its owner can read; it and its folder are made when they are first needed.

    A window begins with the first report and is written after `window` seconds, which leaves 20 of the promised 50 ms
    to the disk. While another process has the file locked, a call waits `patience` seconds at most. A commit survives
    the end of the process however it comes, and the loss of power too where `survives_power_cut` makes it wait for
    the disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        window: float = 0.03,
        patience: float = 5.0,
        survives_power_cut: bool = False,
    ) -> None:
        self.path = expand_path(os.fspath(path)).absolute()
        self._name = str(self.path) if path_error(self.path) is None else ascii(str(self.path))[1:-1]  # can be printed
        self._seconds = window
        self._patience = patience
        self._survives_power_cut = survives_power_cut
        self._lock = threading.Lock()  # of the window
        self._window = Window()
        # A moment more, so that a call that is out of patience says so itself.
        name = f"accord store {self.path.name}"
        self._worker = Worker(name, self._window_closes, self._at_end, self._tell_unwritten, patience + 1)
        self._writing = Window()  # what was taken from the window and is not on the disk yet
        self._is_loss_told = False
        self._tables: Tables | None = None  # of the worker's thread, like all below
        self._fenced: dict[Key, Fenced] = {}
        self._released: dict[Key, Claim] = {}  # to be given back with the next write
        self._log_holds_deleted = False
        self._failing = False

    async def create(self, kept: SessionRecord) -> SessionRecord:
        """See `Store.create`."""
        new = dated(kept)
        await self._do(lambda tables: tables.create(new))
        return new

    async def find(self, session_id: str) -> SessionRecord | None:
        """See `Store.find`."""
        return await self._do(lambda tables: tables.find(session_id))

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """See `Store.claim`; a claim ends with its process, and a process that is stopped keeps it."""
        return await self._do(lambda tables: tables.claim(session_id, owner, take_over), written=session_id)

    async def holder(self, session_id: str) -> Claim | None:
        """Who has a session now; also while the file can't be written."""
        return await self._do(lambda tables: tables.holder(session_id))

    async def renew(self, claim: Claim) -> None:
        """See `Store.renew`; only needed where file locks can't be seen."""
        await self._do(lambda tables: self._fencing(claim, lambda: tables.renew(claim)))

    async def release(self, claim: Claim) -> None:
        """See `Store.release`; what was appended and the release are one transaction."""
        deadline = monotonic() + self._patience
        await self._worker.call(lambda: self._release(claim, deadline), self._closed)

    async def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        """See `Store.update`."""
        new = settled(kept)
        return await self._do(lambda tables: self._fencing(claim, lambda: tables.update(claim, new)))

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE, *, user: str | None = None
    ) -> SessionPage:
        """See `Store.list`."""
        before = begins_before(cursor, limit)
        return session_page(await self._do(lambda tables: [*tables.list(cwd, before, limit + 1, user)]), limit)

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        """See `Store.append`; may be called from any thread."""
        if self._worker.ending:
            raise StoreClosed(self._name)
        key = (claim.session_id, claim.epoch)
        if self._fenced and key in self._fenced:
            raise copy(self._fenced[key])
        if self._window.weight > UNWRITTEN:
            raise StoreFailed(self._name, f"more than {UNWRITTEN} bytes wait to be written")
        waiting, weight = taken(reports)
        if not waiting:
            return
        with self._lock:
            window_begins = not self._window
            self._window.add(key, waiting, weight)
        if window_begins:
            self._worker.set_alarm(self._seconds)

    async def commit(self, claim: Claim | None = None) -> None:
        """See `Store.commit`."""
        await self._do(lambda tables: None if claim is None else self._check(tables, claim), written=True)

    async def read(self, session_id: str) -> AsyncIterator[Patches]:
        """See `Store.read`."""
        number, last = await self._do(lambda tables: tables.extent(session_id), written=session_id)
        place = 0
        while place < last:
            page = await self._do(lambda tables, after=place: tables.page(session_id, number, after, last))
            place = page.last
            yield page.reports

    async def fork(self, session_id: str, kept: SessionRecord) -> SessionRecord:
        """See `Store.fork`."""
        new = dated(kept)
        await self._do(lambda tables: tables.create(new, session_id), written=session_id)
        return new

    async def delete(self, session_id: str) -> None:
        """See `Store.delete`. The content is overwritten; a log that another process still reads is cleared later."""
        await self._do(lambda tables: self._delete(tables, session_id))

    async def aclose(self) -> None:
        """See `Store.aclose`; raises StoreFailed when something could not be written, and logs what."""
        await self._worker.end(self._closed)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def _do(self, work: Callable[[Tables], T], written: bool | str = False) -> T:
        """Have the worker do it, after all that was appended is written.

        If that fails it is done all the same, unless everything must be written before, or what waits of one session.
        """
        deadline = monotonic() + self._patience

        def in_order() -> T:
            must_be_written = written if isinstance(written, bool) else self._waits_for(written)
            try:
                self._write(deadline if must_be_written else 0)
            except StoreFailed:
                if must_be_written:
                    raise
            return self._patiently(work, deadline)

        return await self._worker.call(in_order, self._closed)

    # What follows runs in the worker's thread.

    def _window_closes(self) -> None:
        try:
            self._write(0)
        except StoreFailed as error:
            if not self._failing:
                self._failing = True
                log.warning("%s. It is tried again until it works", error)
        else:
            self._failing = False

    def _waits_for(self, session_id: str) -> bool:
        with self._lock:
            return self._window.waits_for(session_id) or any(key[0] == session_id for key in self._released)

    def _write(self, deadline: float) -> None:
        with self._lock:
            window = self._writing = self._window.close()
        if not window and not self._released:
            return
        unwritten = window.entries()
        released = list(self._released.values())
        try:
            refused = self._patiently(lambda tables: tables.write(unwritten, released), deadline)
        except BaseException:
            with self._lock:
                self._writing = Window()
                self._window.put_back(unwritten)
            self._worker.set_alarm(max(self._seconds, _AGAIN))
            raise
        with self._lock:
            self._writing = Window()
        self._note_refused(refused, window)
        for claim in released:
            del self._released[claim.key]
            self._fenced.pop(claim.key, None)
        if self._log_holds_deleted and self._tables is not None:
            with suppress(sqlite3.Error):  # what was to be written is written
                self._log_holds_deleted = not self._tables.clear_log()

    def _note_refused(self, refused: dict[Key, Fenced], window: Window) -> None:
        self._fenced.update(refused)
        weights = window.weights() if refused else {}
        for (session_id, _), error in refused.items():
            log.warning(
                "about %d bytes of the session %s were not kept: %s", weights.get(session_id, 0), session_id, error
            )

    def _fencing(self, claim: Claim, work: Callable[[], T]) -> T:
        """What `work` gives; that the claim is over is remembered, so that `append` knows it."""
        try:
            return work()
        except Fenced as refused:
            self._fenced[claim.key] = refused
            raise

    def _check(self, tables: Tables, claim: Claim) -> None:
        self._fencing(claim, lambda: tables.check(claim))

    def _release(self, claim: Claim, deadline: float) -> None:
        """Give it back with all that was appended; when that fails it is tried again, like all that is to be written."""
        self._released[claim.key] = claim
        self._write(deadline)

    def _delete(self, tables: Tables, session_id: str) -> None:
        released = [key for key in self._released if key[0] == session_id]
        tables.delete(session_id, {epoch for _, epoch in released})
        for key in released:
            del self._released[key]
        with self._lock:
            self._window.forget(session_id)
        self._log_holds_deleted = not tables.clear_log()

    def _patiently(self, work: Callable[[Tables], T], deadline: float) -> T:
        """What `work` gives, tried again while the file is locked and the deadline is not over."""
        while True:
            try:
                if self._tables is None:
                    self._tables = Tables(self.path, survives_power_cut=self._survives_power_cut)
                return work(self._tables)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise StoreFailed(self._name, str(error)) from error
                if monotonic() >= deadline:
                    raise StoreFailed(self._name, f"another process keeps it locked ({error})") from error
            except OSError as error:
                raise StoreFailed(self._name, error.strerror or str(error)) from error
            sleep(0.005)  # SQLite has waited itself, but not for every kind of lock

    def _at_end(self) -> None:
        try:
            self._write((self._worker.ending_since or monotonic()) + self._patience)
        except StoreFailed as error:
            lost = self._window.weight
            if not lost:  # only a claim could not be given back, which ends with its lock
                return
            self._tell_unwritten(error.reason)
            raise StoreFailed(self._name, f"about {lost} bytes were not written: {error.reason}") from error
        finally:
            if self._tables is not None:
                self._tables.close()

    def _tell_unwritten(self, reason: str = "there was no more time to wait for it") -> None:
        """Log what is not on the disk at the end, once; from whatever thread."""
        with self._lock:
            windows = (self._writing, self._window)
            weights = [item for window in windows for item in window.weights().items()]
            if not weights or self._is_loss_told:
                return
            self._is_loss_told = True
        sessions = ", ".join({session_id: None for session_id, _ in weights})
        lost = sum(weight for _, weight in weights)
        log.error("about %d bytes were not written to %s (%s), of the sessions: %s", lost, self._name, reason, sessions)

    def _closed(self) -> StoreClosed:
        return StoreClosed(self._name)
