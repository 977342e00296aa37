"""Sequences that grow at the end and can be kept as they were at any moment, at no cost.

Law: a value never changes. `plus` gives a new value that shares the storage of the old one; each knows how much of it
is its own. Adding to the newest value extends the storage in place, so n pieces take n steps; adding to an older one,
whose storage has gone on without it, copies first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, overload

T = TypeVar("T")


class SnapshotList(Sequence[T]):
    """A read-only list that can be added to; equal to any sequence with the same items."""

    __slots__ = ("_length", "_storage")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._storage = list(items)
        self._length = len(self._storage)

    def plus(self, item: T) -> SnapshotList[T]:
        """These items and one more."""
        storage = self._storage
        if len(storage) != self._length or not storage:  # an empty one may be a constant, which must not grow
            storage = storage[: self._length]
        storage.append(item)
        grown: SnapshotList[T] = object.__new__(type(self))
        grown._storage = storage
        grown._length = self._length + 1
        return grown

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._storage, self._length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._storage[place] for place in range(*index.indices(self._length))]
        return self._storage[range(self._length)[index]]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType]
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its items may change

    def __repr__(self) -> str:
        return repr(list(self))


class SnapshotBytes:
    """Bytes that can be added to; `bytes()`, slices, `len()` and comparing work as with bytes."""

    __slots__ = ("_length", "_storage")

    def __init__(self, data: bytes = b"") -> None:
        self._storage = bytearray(data)
        self._length = len(data)

    def plus(self, data: bytes) -> SnapshotBytes:
        """These bytes and some more."""
        storage = self._storage
        if len(storage) != self._length or not storage:  # an empty one may be a constant, which must not grow
            storage = storage[: self._length]
        storage += data
        grown = object.__new__(SnapshotBytes)
        grown._storage = storage
        grown._length = len(storage)
        return grown

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> bytes:
        start, stop, step = part.indices(self._length)
        if step < 0:
            return bytes(self)[part]
        return bytes(self._storage[start:stop:step])

    def __bytes__(self) -> bytes:
        return bytes(memoryview(self._storage)[: self._length])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SnapshotBytes | bytes | bytearray):
            return bytes(self) == bytes(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as bytearray

    def __repr__(self) -> str:
        return repr(bytes(self))
