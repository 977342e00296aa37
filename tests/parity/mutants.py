"""Values that differ from one that the official schema allows in a single place.

What is right of them, the schema says: a mutant may be as good as what it was made from.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

UNLISTED, OWN = "unlisted", "_own"
"""A value that the protocol does not list, and one that belongs to implementers."""

KINDS: tuple[Any, ...] = (5, 0.5, True, [], {}, [5], {"unheardOf": 5})
NUMBERS = (0, -1, 1.0, 1.5, 1e300, 2**16, 2**32, 2**63, 2**64, -(2**63) - 1)
STRINGS = ("", UNLISTED, OWN)


class Mutant(NamedTuple):
    """`what` was done to the value, and where."""

    what: str
    place: str
    value: Any


def mutants(value: Any, member: str | None = None) -> Iterator[Mutant]:
    """Mutants of a parsed JSON value: of all of it, or of one member."""
    paths = [(), *_paths(value)] if member is None else [(member,), *_paths(value[member], (member,))]
    for path in paths:
        place = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        if path:
            yield Mutant("dropped", place, _changed(value, path, drop=True))
        found = _at(value, path)
        for what, other in _others(found):
            yield Mutant(what, place, _changed(value, path, other))


def _others(found: Any) -> Iterator[tuple[str, Any]]:
    yield "null", None
    yield from (("kind", other) for other in KINDS)
    if not isinstance(found, str):
        yield "kind", OWN
    if isinstance(found, str):
        yield from (("value", other) for other in STRINGS)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield from (("number", other) for other in NUMBERS)
    elif isinstance(found, list) and found:
        yield "element", [*found, None]
        yield "element", [*found, {}]
        yield "repeated", [*found, *found]
    elif isinstance(found, dict):
        yield "member", {**found, "unheardOf": 5}
        yield "meta", {**found, "_meta": 5}
        yield "meta", {**found, "_meta": None}


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for key, element in inner:
        yield (*above, key)
        if key != "_meta":  # there anything goes
            yield from _paths(element, (*above, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _changed(value: Any, path: tuple[Any, ...], other: Any = None, drop: bool = False) -> Any:
    if not path:
        return copy.deepcopy(other)
    changed = copy.deepcopy(value)
    holder = _at(changed, path[:-1])
    if drop:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(other)
    return changed
