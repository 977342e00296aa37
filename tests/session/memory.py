"""How much something holds in memory."""

from __future__ import annotations

from typing import Any


def retained(kept: Any, seen: set[int] | None = None) -> int:
    """The letters and bytes that something holds, each once."""
    seen = set() if seen is None else seen
    if id(kept) in seen or isinstance(kept, type):
        return 0
    seen.add(id(kept))
    match kept:
        case str() | bytes() | bytearray():
            return len(kept)
        case dict():
            return sum(retained(key, seen) + retained(value, seen) for key, value in kept.items())
        case list() | tuple() | set() | frozenset():
            return sum(retained(each, seen) for each in kept)
    names = [
        *getattr(kept, "__dict__", ()),
        *getattr(type(kept), "__slots__", ()),
        *getattr(kept, "__struct_fields__", ()),
    ]
    return sum(retained(getattr(kept, name, None), seen) for name in names)
