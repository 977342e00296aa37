"""The layouts that a store's SQLite file has had, and the way from the first to this one.

    1   had no claims. Ids counted from 1 in each process, so of two processes that had one session at the same time each
        gave its messages the ids that the other one gave: read back, the later took the place of the earlier.
    2   has claims, and ids that no process gives again.

The migration keeps all that is in a journal of layout 1: what came second under an id gets a new one. A process of an
older accord that still has the file open is refused when it adds to a journal, or deletes a session that is claimed.
"""

from __future__ import annotations

import os
import re
import sqlite3

from msgspec.structs import replace

from accord.errors import Malformed
from accord.session.entities import USER
from accord.session.updates import MessageAppend, MessagePatch, Patch, ToolCallAppend, ToolCallPatch
from accord.store.row_formats import packed, read_back, together

CLAIMS = """
CREATE TABLE claims (
    epoch INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL UNIQUE,
    owner TEXT NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, boot TEXT NOT NULL,
    since TEXT NOT NULL, renewed TEXT NOT NULL
);
CREATE INDEX claims_by_owner ON claims (owner);
CREATE TRIGGER journal_of_older_accord BEFORE INSERT ON journal WHEN NEW.epoch IS NULL
BEGIN SELECT RAISE(ABORT, 'a newer accord has changed this file; end this one and start the newer one'); END;
CREATE TRIGGER journal_in_use BEFORE DELETE ON journal WHEN EXISTS (SELECT 1 FROM claims WHERE session = OLD.session)
BEGIN SELECT RAISE(ABORT, 'the session is in use'); END;
CREATE TRIGGER session_in_use BEFORE DELETE ON sessions WHEN EXISTS (SELECT 1 FROM claims WHERE session = OLD.number)
BEGIN SELECT RAISE(ABORT, 'the session is in use'); END;
"""

_MADE_UP = re.compile(r"accord-\d+")
_COUNTED = re.compile(r"call-\d+")


def statements(script: str) -> list[str]:
    """The statements of a script, which are run one by one: a script would end the transaction."""
    found: list[str] = []
    rest = ""
    for part in script.split(";"):
        rest += part
        if rest.strip() and sqlite3.complete_statement(f"{rest};"):
            found.append(rest)
            rest = ""
        else:
            rest += ";"
    return found


def migrate(connection: sqlite3.Connection) -> None:
    """From layout 1 to 2, inside a transaction."""
    for (session,) in connection.execute("SELECT number FROM sessions").fetchall():
        ids = UniqueIds()
        entries = connection.execute("SELECT number FROM journal WHERE session = ? ORDER BY number", (session,))
        for (number,) in entries.fetchall():
            row = connection.execute("SELECT format, reports FROM journal WHERE number = ?", (number,)).fetchone()
            changed = _changed(ids, *row)
            if changed is not None:
                connection.execute("UPDATE journal SET reports = ? WHERE number = ?", (changed, number))
    connection.execute("ALTER TABLE journal ADD COLUMN epoch INTEGER")
    for statement in statements(CLAIMS):
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 2")


def _changed(ids: UniqueIds, form: int, entry: bytes) -> bytes | None:
    """The entry with unique ids; None if it has them, or can't be read."""
    try:
        before = read_back(form, entry)
    except Malformed:
        return None
    after = [ids.told_apart(report) for report in before]
    if all(new is old for new, old in zip(after, before, strict=True)):
        return None
    repacked = [packed(report) for report in after]
    return together(form, [each for _, each in repacked]) if all(form == each for each, _ in repacked) else None


class UniqueIds:
    """Gives what came second under an id one of its own, report by report.

    Only ids that an older accord made up are looked at, which never went on in another turn: a prompt that comes under
    the id of another one begins a turn of another process, and so does a tool call that is announced again.
    """

    def __init__(self) -> None:
        self._turn = 0
        self._turns: dict[tuple[str, str], int] = {}  # of each message: in which turn it was first told
        self._messages: dict[tuple[str, str], str] = {}
        self._calls: dict[str, str] = {}

    def told_apart(self, report: Patch) -> Patch:
        """The report itself, or a copy with another id."""
        if isinstance(report, MessagePatch | MessageAppend):
            return self._message(report)
        if isinstance(report, ToolCallPatch | ToolCallAppend):
            return self._call(report)
        return report

    def _message(self, report: MessagePatch | MessageAppend) -> Patch:
        is_prompt = report.role == USER and isinstance(report, MessagePatch)
        self._turn += is_prompt
        if report.id is None or not _MADE_UP.fullmatch(report.id):
            return report
        key = (report.role, report.id)
        if self._turns.setdefault(key, self._turn) != self._turn:
            self._turns[key] = self._turn
            self._messages[key] = f"message-{os.urandom(8).hex()}"
        return _under(report, self._messages.get(key))

    def _call(self, report: ToolCallPatch | ToolCallAppend) -> Patch:
        if not _COUNTED.fullmatch(report.id):
            return report
        if isinstance(report, ToolCallPatch) and report.creates:
            if report.id in self._calls:
                self._calls[report.id] = f"call-{os.urandom(8).hex()}"
            else:
                self._calls[report.id] = report.id
        return _under(report, self._calls.get(report.id))


def _under(report: Patch, id: str | None) -> Patch:
    return report if id is None or id == getattr(report, "id", None) else replace(report, id=id)
