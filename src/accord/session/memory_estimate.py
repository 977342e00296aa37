"""How much of the transcript's byte limit something uses up: about the bytes it had on the wire.

Laws: every field of what is kept weighs, except for a line so short that a hundred thousand of them are no burden. What was
added piece by piece weighs as much as the whole does, so that it can be taken off again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.msgpack import Encoder

from accord.session.content import Text, is_plain
from accord.session.snapshots import SnapshotBytes, SnapshotList

TRANSCRIPT_BYTES = 256 * 1024 * 1024
"""What a transcript holds, unless it is told otherwise."""
PIECE = 64
"""What each piece counts for beside its text."""
LINE = 200
"""How many characters of a title or the like stay whatever the limit is; one that is no longer weighs nothing."""
CONTENT: Mapping[str, Mapping[str, Any]] = {
    "messages": {},  # which weigh their content themselves
    "unknown": {"raw": None},
    "tool_calls": {"content": SnapshotList[Any](), "raw_input": None, "raw_output": None},
    "terminals": {"output": SnapshotBytes()},
    "plans": {"entries": [], "raw": None},
    "compactions": {"summary": SnapshotList[Any]()},
}
"""By kind of entity, its content, and what remains of that when it is dropped. All its other fields are details."""
_STEP = 64 * 1024

_encode = Encoder(enc_hook=repr).encode  # the quickest way to add up all that is in a word


def weigh(value: Any) -> int:
    """The weight of what a field holds; None and an empty list weigh nothing."""
    if isinstance(value, SnapshotList):
        return sum([weigh_piece(piece) for piece in value])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, SnapshotBytes):
        return len(value)
    return 0 if value is None or value == [] else _encoded(value)


def weigh_detail(value: Any) -> int:
    """The weight of something told beside a content; what is no longer than a line weighs nothing, unless it is a list or a dict."""
    if isinstance(value, str):
        return weigh_text(value) if len(value) > LINE else 0
    if not value or isinstance(value, bool | int | float):
        return 0
    weight = weigh(value)
    return 0 if isinstance(value, Struct) and weight <= LINE else weight


def _left_of(detail: Any) -> Any:
    """What stays of something told beside a content that is dropped: the beginning of a text, else what weighs nothing."""
    if isinstance(detail, str):
        return detail[:LINE]
    if isinstance(detail, list):
        return []
    return None if weigh_detail(detail) else detail


def weigh_piece(piece: Any) -> int:
    """The weight of one block or item of a content."""
    if type(piece) is Text and is_plain(piece):
        return PIECE + weigh_text(piece.text)
    return PIECE + _encoded(piece)


def weigh_text(text: str) -> int:
    """The bytes of a text."""
    if text.isascii():
        return len(text)
    if len(text) <= _STEP:
        return len(text.encode("utf-8", "surrogatepass"))
    steps = range(0, len(text), _STEP)  # a long text is not copied as a whole
    return sum([len(text[start : start + _STEP].encode("utf-8", "surrogatepass")) for start in steps])


def content_weight(table: str, entity: Any) -> int:
    """The weight of an entity's content."""
    if table == "messages":
        return entity.weight
    return sum([weigh(getattr(entity, name)) for name in CONTENT[table]])


def details_weight(table: str, entity: Any) -> int:
    """The weight of what is told of an entity beside its content."""
    return sum([weigh_detail(getattr(entity, name)) for name in _details(table, entity.__class__)])


def details_growth(table: str, before: Any, after: Any) -> int:
    """What an entity's details weigh more than before; those that are still the same are not weighed again."""
    if before is None:
        return details_weight(table, after)
    growth, details = 0, _details_getter(table, after.__class__)
    for old, new in zip(details(before), details(after)):  # noqa: B905  # of one class; `strict` costs as much as the loop
        if new is not old:
            growth += weigh_detail(new) - weigh_detail(old)
    return growth


def is_light(entity: Any) -> bool:
    """Whether nothing of it weighs once its content is dropped: an id can't be cut."""
    return not weigh_detail(getattr(entity, "id", None))


def emptied_fields(table: str, entity: Any) -> dict[str, Any]:
    """The fields of an entity whose content is dropped."""
    names = [name for name in _details(table, entity.__class__) if name != "id"]
    return {**{name: _left_of(getattr(entity, name)) for name in names}, **CONTENT[table], "dropped": True}


@cache
def _details(table: str, kind: type) -> tuple[str, ...]:
    """All that an entity has, but its content; so that none can be forgotten, they are named nowhere."""
    fields: Any = getattr(kind, "__struct_fields__", None) or getattr(kind, "__slots__", ())
    return tuple(str(name) for name in fields if name not in CONTENT[table] and not name.startswith("_"))


@cache
def _details_getter(table: str, kind: type) -> attrgetter[tuple[Any, ...]]:
    return attrgetter(*_details(table, kind))


def _encoded(value: Any) -> int:
    for measure in (_encode, repr):
        try:
            return len(measure(value))
        except (ValueError, OverflowError, RecursionError):  # half a character, a number that is too long, too deep
            continue
    return PIECE
