"""The facts about sessions that a server keeps: their owners, and their updates for clients that attach later.

The owners can be kept in a file that outlives the server. It has one line of JSON for each session; the last line about a
session counts. Only its owner can read it.

Law: a record of updates is whole or empty. When it grows past its limit it is dropped, because a history with a hole is none.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

_MOST = 100_000


class _Line(msgspec.Struct):
    session: str
    user: str | None
    """None: nobody owns it, because it was deleted."""


_read_line = msgspec.json.Decoder(_Line).decode


class SessionOwners:
    """Remembers the owners of the newest sessions. Sessions of local programs, which are no users, have none."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """OSError if the file can't be used; a line of it that is damaged is left out."""
        self._path = None if path is None else Path(path)
        self._owners: dict[str, str | None] = {}
        if self._path is not None:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            self._read(self._path)

    def find(self, session_id: str) -> str | None:
        return self._owners.get(session_id)

    def add(self, session_id: str, user: str | None) -> None:
        """The session belongs to this user, unless it belongs to another one."""
        if session_id not in self._owners:
            self._set(session_id, user)
            self._write(session_id, user)

    def remove(self, session_id: str) -> None:
        """The session was deleted."""
        if self._owners.pop(session_id, None) is not None:
            self._write(session_id, None)

    def _set(self, session_id: str, user: str | None) -> None:
        self._owners[session_id] = user
        if len(self._owners) > _MOST:
            del self._owners[next(iter(self._owners))]

    def _write(self, session_id: str, user: str | None) -> None:
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(_Line(session_id, user)) + b"\n")

    def _read(self, path: Path) -> None:
        lines = path.read_bytes().splitlines()
        for line in lines:
            try:
                entry = _read_line(line)
            except msgspec.DecodeError:
                continue  # a write that was cut off
            self._owners.pop(entry.session, None)
            if entry.user is not None:
                self._set(entry.session, entry.user)
        if len(lines) > 2 * len(self._owners) + 1000:
            self._compact(path)

    def _compact(self, path: Path) -> None:
        """Leave out the lines that do not count any more."""
        text = b"".join(msgspec.json.encode(_Line(*entry)) + b"\n" for entry in self._owners.items())
        new = path.with_name(f"{path.name}.new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        new.replace(path)


class RecordBudget:
    """The bytes of all records together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0


class SessionRecord:
    """`is_whole` says whether it has everything from the beginning of the session."""

    def __init__(self, limit: int, budget: RecordBudget) -> None:
        self._limit = limit
        self._budget = budget
        self._frames: list[bytes] = []
        self._size = 0
        self.is_whole = True

    @property
    def frames(self) -> list[bytes]:
        return self._frames

    @property
    def size(self) -> int:
        """Its bytes."""
        return self._size

    def add(self, frame: bytes) -> None:
        """Keep an update, if everything before it is kept."""
        if not self.is_whole:
            return
        self._frames.append(frame)
        self._size += len(frame)
        self._budget.used += len(frame)
        if self._size > self._limit or self._budget.used > self._budget.limit:
            self.cut()

    def restart(self) -> None:
        """Begin anew: the whole history follows."""
        self.cut()
        self.is_whole = True

    def cut(self) -> None:
        """Drop everything."""
        self._budget.used -= self._size
        self._size = 0
        self._frames = []
        self.is_whole = False
