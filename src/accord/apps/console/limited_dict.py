"""A table of what an agent names, which it may do for ever: it forgets what was put there first."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["LimitedDict"]

V = TypeVar("V")

_LONG = 200


class LimitedDict(Generic[V]):
    """By the agent's ids, of which only the hash is kept where they are long; at most so many entries."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._entries: dict[str | int, V] = {}

    def get(self, id: str) -> V | None:
        return self._entries.get(_key(id))

    def put(self, id: str, value: V) -> None:
        self._entries[_key(id)] = value
        if len(self._entries) > self._limit:
            del self._entries[next(iter(self._entries))]

    def pop(self, id: str) -> V | None:
        return self._entries.pop(_key(id), None)

    def __contains__(self, id: str) -> bool:
        return _key(id) in self._entries


def _key(id: str) -> str | int:
    return id if len(id) <= _LONG else hash(id)
