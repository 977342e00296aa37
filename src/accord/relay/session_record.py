"""The updates of a session, kept for clients that attach to it later.

Law: a record is whole or empty. When it grows past its limit it is dropped, because a history with a hole is none.
"""

from __future__ import annotations


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
