"""A store's SQLite file: how it is made, and every statement that touches it.

    sessions   one row each; a `number` is never used twice, so no journal can end up with another session
    journal    the entries of all sessions, in the order in which they were written, with the epoch that wrote them
    claims     one row for each session that is claimed; an `epoch` is never used twice, whatever session it is of

`user_version` is the number of this layout. What is deleted is overwritten, here and in the write-ahead log.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from accord.errors import Fenced, JournalUnreadable, NotFound, SessionExists, StoreFailed
from accord.local.files import check_file, check_path, make_private_directory
from accord.store.layouts import CLAIMS, migrate, statements
from accord.store.locks import OwnerLocks
from accord.store.paging import Mark, PatchPage, page_of
from accord.store.store import Claim, Owner, SessionRecord, fenced, in_use, now, seconds_since, updated
from accord.store.write_buffer import Key, Unwritten

LAYOUT = 2
_APPLICATION = 0x41434F52  # marks the file as ours
_WAIT = 0.02  # seconds that SQLite itself waits for a lock; whoever is more patient asks again
_LOG_BYTES = 16 * 1024 * 1024
_LEASE = 30.0  # seconds that an owner whose lock can't be seen from here counts as alive after it was last heard of

_MAKE = f"""
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, cwd TEXT NOT NULL, title TEXT,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, more TEXT NOT NULL
);
CREATE INDEX sessions_by_use ON sessions (updated_at, number);
CREATE INDEX sessions_by_directory ON sessions (cwd, updated_at, number);
CREATE TABLE journal (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, format INTEGER NOT NULL, reports BLOB NOT NULL, epoch INTEGER
);
CREATE INDEX journal_by_session ON journal (session, number);
{CLAIMS}
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {LAYOUT};
"""
_HOLDER = "SELECT epoch, owner, pid, host, boot, since, renewed FROM claims WHERE session = ?"
_KEPT = "number, id, cwd, title, created_at, updated_at, more"


class _Holder(NamedTuple):
    claim: Claim
    renewed: str


class _More(msgspec.Struct):
    """What nobody searches by."""

    additional_directories: list[str]
    meta: dict[str, Any] | None
    user: str | None = None


_read_more = msgspec.json.Decoder(_More).decode
_making = threading.Lock()
_claimed: Counter[tuple[Path, int]] = Counter()  # how many stores of this process gave each claim out
_counting = threading.Lock()


def is_busy(error: sqlite3.Error) -> bool:
    """Whether it says no more than that somebody else is at it right now."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


class Tables:
    """An open file. Every method is one transaction; it belongs to the thread that opened it."""

    def __init__(self, path: Path, *, survives_power_cut: bool) -> None:
        self._name = str(path)
        check_path(path)
        path = Path(os.path.realpath(path))  # whoever comes by a link finds the same owners
        self._path = path
        self._locks = OwnerLocks(path)
        self._epochs: set[int] = set()  # of the claims that were given out here
        _make_file(path)
        self._connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        self._execute = self._connection.execute
        try:
            self._prepare("FULL" if survives_power_cut else "NORMAL")
        except BaseException:
            self._connection.close()
            raise

    def create(self, kept: SessionRecord, source: str | None = None) -> None:
        """Add a session, with the journal of `source` if there is one."""
        with self._transaction():
            if self._execute("SELECT 1 FROM sessions WHERE id = ?", (kept.session_id,)).fetchone() is not None:
                raise SessionExists(self._name, kept.session_id)
            number = None if source is None else self._number(source)
            values = (kept.session_id, kept.cwd, kept.title, kept.created_at, kept.updated_at, _more(kept))
            added = self._execute(
                "INSERT INTO sessions (id, cwd, title, created_at, updated_at, more) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            if number is not None:
                self._execute(
                    "INSERT INTO journal (session, format, reports, epoch)"
                    " SELECT ?, format, reports, 0 FROM journal WHERE session = ? ORDER BY number",
                    (added.lastrowid, number),
                )

    def find(self, session_id: str) -> SessionRecord | None:
        row = self._execute(f"SELECT {_KEPT} FROM sessions WHERE id = ?", (session_id,)).fetchone()  # noqa: S608
        if row is None:
            return None
        try:
            return _kept(row)
        except msgspec.DecodeError as error:
            reason = f"what is kept about session {session_id!r} is damaged ({error}); other sessions are unaffected"
            raise StoreFailed(self._name, reason) from error

    def claim(self, session_id: str, owner: Owner, take_over: bool) -> Claim:
        """Make it the newest claim of the session."""
        is_locked = self._locks.hold(owner.id)  # before anybody can ask whether this owner lives
        with self._transaction():
            self._sweep()
            number = self._number(session_id)
            holder = self._holder(number, session_id)
            if holder is not None and holder.claim.owner.id == owner.id:
                self._count(holder.claim.epoch)
                return holder.claim
            if holder is not None and not take_over and self._is_alive(holder):
                raise in_use(holder.claim)
            time = now()
            added = self._execute(
                "INSERT OR REPLACE INTO claims (session, owner, pid, host, boot, since, renewed)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, owner.id, owner.pid, owner.host, owner.boot if is_locked else "", time, time),
            )
            claim = Claim(session_id, owner, added.lastrowid or 0, time, _LEASE)
        self._count(claim.epoch)
        return claim

    def holder(self, session_id: str) -> Claim | None:
        """Who has the session now; to look needs no right to write."""
        row = self._execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
        holder = None if row is None else self._holder(row[0], session_id)
        return holder.claim if holder is not None and self._is_alive(holder) else None

    def renew(self, claim: Claim) -> None:
        with self._transaction():
            self.check(claim)
            self._execute("UPDATE claims SET renewed = ? WHERE epoch = ?", (now(), claim.epoch))

    def check(self, claim: Claim) -> None:
        """Raise NotFound if the session is not there, and Fenced if this is not its claim."""
        holder = self._holder(self._number(claim.session_id), claim.session_id)
        if holder is None or holder.claim.epoch != claim.epoch:
            raise fenced(claim.session_id, None if holder is None else holder.claim)

    def update(self, claim: Claim, kept: SessionRecord) -> SessionRecord:
        with self._transaction():
            self.check(claim)
            times = self._execute(
                "SELECT created_at, updated_at FROM sessions WHERE id = ?", (kept.session_id,)
            ).fetchone()
            if times is None:
                raise NotFound(session_id=kept.session_id)
            kept = updated(kept, *times)
            self._execute(
                "UPDATE sessions SET cwd = ?, title = ?, updated_at = ?, more = ? WHERE id = ?",
                (kept.cwd, kept.title, kept.updated_at, _more(kept), kept.session_id),
            )
        return kept

    def list(
        self, cwd: str | None, before: Mark | None, limit: int, user: str | None = None
    ) -> Iterator[tuple[Mark, SessionRecord]]:
        """Up to `limit` sessions, last used first; one that is damaged is there all the same, so it can be deleted."""
        conditions: list[str] = []
        values: list[object] = []
        if cwd is not None:
            conditions.append("cwd = ?")
            values.append(cwd)
        if user is not None:
            conditions.append("CASE WHEN json_valid(more) THEN json_extract(more, '$.user') END = ?")
            values.append(user)
        if before is not None:
            conditions.append("(updated_at, number) < (?, ?)")
            values += before
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"SELECT {_KEPT} FROM sessions {where} ORDER BY updated_at DESC, number DESC LIMIT ?"  # noqa: S608
        for row in self._execute(query, (*values, limit)).fetchall():
            try:
                kept = _kept(row)
            except msgspec.DecodeError:
                kept = _kept((*row[:-1], b'{"additional_directories": [], "meta": null}'))
            yield (row[5], row[0]), kept

    def write(self, unwritten: Unwritten, released: Iterable[Claim] = ()) -> dict[Key, Fenced]:
        """Add entries to the journals, then give claims back.

        Entries of sessions that are not there are dropped, and those of claims that are over; the latter are returned.
        """
        epochs = [claim.epoch for claim in released]
        mine = self._epochs.intersection(epochs)
        try:
            with self._transaction():
                refused = self._write(unwritten)
                self._give_back(epochs)
        except BaseException:
            for epoch in mine:  # it is still ours, so that nobody else ends it before all is written
                self._count(epoch)
            raise
        return refused

    def _write(self, unwritten: Unwritten) -> dict[Key, Fenced]:
        refused: dict[Key, Fenced] = {}
        time = now()
        for key, entries in unwritten.items():
            session_id, epoch = key
            row = self._execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is None:
                continue
            holder = self._holder(row[0], session_id)
            if holder is None or holder.claim.epoch != epoch:
                refused[key] = fenced(session_id, None if holder is None else holder.claim)
                continue
            self._connection.executemany(
                "INSERT INTO journal (session, format, reports, epoch) VALUES (?, ?, ?, ?)",
                [(row[0], entry.form, entry.reports, epoch) for entry in entries],
            )
            self._execute("UPDATE sessions SET updated_at = max(updated_at, ?) WHERE number = ?", (time, row[0]))
        return refused

    def extent(self, session_id: str) -> tuple[int, int]:
        """The session's number, and that of the last entry in its journal."""
        number = self._number(session_id)
        last = self._execute("SELECT max(number) FROM journal WHERE session = ?", (number,)).fetchone()[0]
        return number, last or 0

    def page(self, session_id: str, number: int, after: int, last: int) -> PatchPage:
        """The next reports of a journal that has more; raises NotFound when it was deleted."""
        query = "SELECT number, format, reports FROM journal WHERE session = ? AND number > ? AND number <= ? ORDER BY number"
        try:
            # Closing it ends the reading transaction, which would keep the write-ahead log from shrinking.
            with closing(self._execute(query, (number, after, last))) as rows:
                page = page_of(rows, self._name, session_id)
        except sqlite3.DatabaseError as error:
            if is_busy(error):
                raise
            raise JournalUnreadable(self._name, session_id, after + 1, str(error)) from error
        if page is None:
            raise NotFound(session_id=session_id)
        return page

    def delete(self, session_id: str, released: Collection[int] = ()) -> None:
        """Delete a session; the epochs that are `released` do not count as claims of it."""
        with self._transaction():
            row = self._execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is None:
                return
            holder = self._holder(row[0], session_id)
            if holder is not None and self._is_alive(holder):
                epoch = holder.claim.epoch
                if epoch not in released or self._is_shared(epoch):
                    raise in_use(holder.claim)
            for table, column in (("claims", "session"), ("journal", "session"), ("sessions", "number")):
                self._execute(f"DELETE FROM {table} WHERE {column} = ?", row)  # noqa: S608
        # Gives the room back to the disk. It is a script because `execute` would stop after the first page.
        self._connection.executescript("PRAGMA incremental_vacuum")

    def clear_log(self) -> bool:
        """Empty the write-ahead log, which still has what was deleted; False while another process reads from it."""
        busy, _, _ = self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def close(self) -> None:
        """Give the file back, and the claims that no other store of this process has given out as well."""
        try:
            if self._epochs:
                with suppress(sqlite3.Error), self._transaction():  # a claim that stays ends with its lock
                    self._give_back(list(self._epochs))
        finally:
            self._discount(list(self._epochs))
            self._connection.close()
            self._locks.release()

    def _count(self, epoch: int) -> None:
        """Note that the claim was given out here."""
        if epoch in self._epochs:
            return
        self._epochs.add(epoch)
        with _counting:
            _claimed[self._path, epoch] += 1

    def _give_back(self, epochs: list[int]) -> None:
        """End the claims that no other store of this process has given out as well; in a transaction."""
        ended = self._discount(epochs)
        self._connection.executemany("DELETE FROM claims WHERE epoch = ?", [(epoch,) for epoch in ended])

    def _discount(self, epochs: list[int]) -> list[int]:
        """Note that these are not used here any more; those that nobody else uses either."""
        mine = self._epochs.intersection(epochs)
        self._epochs -= mine
        with _counting:
            _claimed.subtract((self._path, epoch) for epoch in mine)
            ended = [epoch for epoch in epochs if not _claimed[self._path, epoch]]
            for epoch in ended:
                del _claimed[self._path, epoch]
        return ended

    def _is_shared(self, epoch: int) -> bool:
        """Whether another store of this process has given the claim out."""
        with _counting:
            return _claimed[self._path, epoch] > (epoch in self._epochs)

    def _prepare(self, synchronous: str) -> None:
        self._execute("BEGIN")
        (layout,) = self._execute("PRAGMA user_version").fetchone()
        (application,) = self._execute("PRAGMA application_id").fetchone()
        (things,) = self._execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._execute("COMMIT")
        if application != _APPLICATION and (layout or things):
            raise StoreFailed(self._name, "it is the database of another program; name another file")
        if layout > LAYOUT:
            reason = (
                f"a newer accord wrote it (layout {layout}, this one knows {LAYOUT}); upgrade, or name another file"
            )
            raise StoreFailed(self._name, reason)
        for setting in (f"synchronous = {synchronous}", "secure_delete = ON", f"journal_size_limit = {_LOG_BYTES}"):
            self._execute(f"PRAGMA {setting}").fetchall()
        if layout == 0:
            self._execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or never
        self._execute("PRAGMA journal_mode = WAL").fetchall()
        if layout < LAYOUT:
            with self._transaction():
                (layout,) = self._execute("PRAGMA user_version").fetchone()
                if layout == 0:  # nobody else was faster
                    for statement in statements(_MAKE):
                        self._execute(statement)
                elif layout == 1:
                    migrate(self._connection)

    def _holder(self, number: int, session_id: str) -> _Holder | None:
        row = self._execute(_HOLDER, (number,)).fetchone()
        if row is None:
            return None
        epoch, owner_id, pid, host, boot, since, renewed = row
        return _Holder(Claim(session_id, Owner(owner_id, pid, host, boot), epoch, since, _LEASE), renewed)

    def _is_alive(self, holder: _Holder) -> bool:
        """By its lock; where that can't be seen from here, by when it was last heard of."""
        owner = holder.claim.owner
        if self._locks.is_held(owner.id):
            return True
        if owner.boot == Owner.here().boot:
            return False
        return seconds_since(holder.renewed) < _LEASE

    def _sweep(self) -> None:
        """Remove what owners that are gone have left behind."""
        for owner_id in self._locks.others():
            row = self._execute("SELECT session FROM claims WHERE owner = ? LIMIT 1", (owner_id,)).fetchone()
            holder = None if row is None else self._holder(row[0], "")
            if holder is None or not self._is_alive(holder):
                self._execute("DELETE FROM claims WHERE owner = ?", (owner_id,))
                self._locks.remove(owner_id)

    def _number(self, session_id: str) -> int:
        row = self._execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            raise NotFound(session_id=session_id)
        return row[0]

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._execute("ROLLBACK")
            raise


def _make_file(path: Path) -> None:
    """Make the file so that only its owner can read it; SQLite gives its companions the same mode.

    A file that is there is not opened here: closing it again would release the locks of others in this process.
    """
    make_private_directory(path.parent)
    for companion in ("", "-journal", "-wal", "-shm"):
        check_file(path.with_name(path.name + companion))  # SQLite would wait for whoever writes to a FIFO
    with _making, suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _more(kept: SessionRecord) -> str:
    return msgspec.json.encode(_More(kept.additional_directories, kept.meta, kept.user)).decode()


def _kept(row: tuple[Any, ...]) -> SessionRecord:
    _, session_id, cwd, title, created_at, updated_at, encoded = row
    more = _read_more(encoded)
    return SessionRecord(
        session_id=session_id,
        cwd=cwd,
        additional_directories=more.additional_directories,
        title=title,
        updated_at=updated_at,
        created_at=created_at,
        meta=more.meta,
        user=more.user,
    )
