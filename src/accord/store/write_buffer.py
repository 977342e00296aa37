"""What was appended and is not written yet, of all sessions.

Pieces of text wait as they are, to be joined when the window closes. Everything else is packed at once: whoever
reported it may change it, and has to know if it cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from accord.errors import Unencodable
from accord.session.updates import MessageAppend, Patch, TerminalAppend
from accord.store.journal_compaction import joined, plain
from accord.store.row_formats import MESSAGE_PACK, packed, packed_piece, together

ENTRY = 64 * 1024
"""About how many bytes an entry of a journal has at most, unless it is a single report that is larger."""

LARGEST = 256 * 1024 * 1024
"""Bytes that a single report may have: four times what a frame may, and a quarter of what SQLite takes."""

_OVERHEAD = 64  # what a piece needs besides its text, roughly


class Entry(NamedTuple):
    """One entry of a journal: reports that follow each other, and the number of their format."""

    form: int
    reports: bytes


Waiting: TypeAlias = list[MessageAppend | TerminalAppend | bytes | Entry]
"""Plain pieces, packed reports, and entries that are complete already."""

Key: TypeAlias = tuple[str, int]
"""A session, and the epoch of the claim that something was appended with."""

Unwritten: TypeAlias = dict[Key, list[Entry]]
"""Entries by session and epoch."""


class Window:
    """Reports that wait to be written, in order; `weight` is about how many bytes they are."""

    __slots__ = ("_waiting", "weight")

    def __init__(self) -> None:
        self._waiting: dict[Key, Waiting] = {}
        self.weight = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, key: Key, waiting: Waiting, weight: int) -> None:
        """Let what `taken` gave wait behind all else."""
        before = self._waiting.get(key)
        if before is None:
            self._waiting[key] = waiting
        else:
            before += waiting
        self.weight += weight

    def put_back(self, unwritten: Unwritten) -> None:
        """Let entries that could not be written wait before all else."""
        for key, entries in unwritten.items():
            self._waiting[key] = [*entries, *self._waiting.get(key, ())]
            self.weight += sum(map(_weigh, entries))

    def waits_for(self, session_id: str) -> bool:
        """Whether anything of a session waits."""
        return any(key[0] == session_id for key in self._waiting)

    def weights(self) -> dict[str, int]:
        """About how many bytes of each session wait."""
        weights: dict[str, int] = {}
        for (session_id, _), waiting in self._waiting.items():
            weights[session_id] = weights.get(session_id, 0) + sum(map(_weigh, waiting))
        return weights

    def forget(self, session_id: str) -> None:
        """Drop what waits for a session."""
        for key in [key for key in self._waiting if key[0] == session_id]:
            self.weight -= sum(map(_weigh, self._waiting.pop(key)))

    def close(self) -> Window:
        """All that waits, in a window of its own; this one is empty then."""
        closed = Window()
        closed._waiting, self._waiting = self._waiting, closed._waiting
        closed.weight, self.weight = self.weight, 0
        return closed

    def entries(self) -> Unwritten:
        """What waits, as it is to be written."""
        return {key: list(_entries(waiting)) for key, waiting in self._waiting.items()}


def taken(reports: Iterable[Patch]) -> tuple[Waiting, int]:
    """The reports as they can wait in a window, and their weight; raises Unencodable."""
    waiting: list[Any] = []
    weight = 0
    for report in reports:
        inside = plain(report)
        if inside is None:
            form, encoded = packed(report)
            waiting.append(encoded if form == MESSAGE_PACK else Entry(form, together(form, [encoded])))
            size = len(encoded)
        else:
            waiting.append(report)
            size = len(inside) + _OVERHEAD
        if size > LARGEST:
            raise Unencodable(f"A {type(report).__name__}", f"it is larger than {LARGEST} bytes")
        weight += size
    return waiting, weight


def _weigh(each: object) -> int:
    if isinstance(each, Entry):
        return len(each.reports)
    return len(each) if isinstance(each, bytes) else len(plain(each) or ()) + _OVERHEAD


def _entries(waiting: Waiting) -> Iterator[Entry]:
    batch: list[bytes] = []
    size = 0
    for each in joined(waiting):
        if isinstance(each, Entry):
            if batch:
                yield Entry(MESSAGE_PACK, together(MESSAGE_PACK, batch))
            yield each
            batch, size = [], 0
            continue
        batch.append(each if isinstance(each, bytes) else packed_piece(each))
        size += len(batch[-1])
        if size >= ENTRY:
            yield Entry(MESSAGE_PACK, together(MESSAGE_PACK, batch))
            batch, size = [], 0
    if batch:
        yield Entry(MESSAGE_PACK, together(MESSAGE_PACK, batch))
