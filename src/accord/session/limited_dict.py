"""A table of what a peer names, which it may do for ever: it forgets what was put there first."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["LimitedDict"]

V = TypeVar("V")

_LONG = 200
_LETTERS = 4 * 1024 * 1024


class LimitedDict(Generic[V]):
    """By the peer's ids, of which only the hash is kept where they are long; at most so many entries.

    Values that are texts have four million letters together at most; others should be small.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._entries: dict[str | int, V] = {}
        self._letters = 0

    def get(self, id: str) -> V | None:
        return self._entries.get(_key(id))

    def put(self, id: str, value: V) -> None:
        self.pop(id)
        self._entries[_key(id)] = value
        self._letters += _size(value)
        while len(self._entries) > self._limit or (self._letters > _LETTERS and self._entries):
            self._letters -= _size(self._entries.pop(next(iter(self._entries))))

    def pop(self, id: str) -> V | None:
        value = self._entries.pop(_key(id), None)
        self._letters -= _size(value)
        return value

    def clear(self) -> None:
        self._entries.clear()
        self._letters = 0

    def __contains__(self, id: str | None) -> bool:
        return id is not None and _key(id) in self._entries


def _key(id: str) -> str | int:
    return id if len(id) <= _LONG else hash(id)


def _size(value: object) -> int:
    return len(value) if isinstance(value, str) else 0
