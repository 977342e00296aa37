"""How much of the transcript's byte limit something uses up: about the bytes it had on the wire.

Law: what was added piece by piece weighs as much as the whole does, so that it can be taken off again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.msgpack import Encoder

from accord.session.content import Text, is_plain
from accord.session.growing import Items, Output

__all__ = [
    "CONTENT",
    "DETAILS",
    "LINE",
    "PIECE",
    "TRANSCRIPT_BYTES",
    "content_weight",
    "details_growth",
    "details_weight",
    "left_of",
    "weigh",
    "weigh_detail",
    "weigh_piece",
    "weigh_text",
]

TRANSCRIPT_BYTES = 256 * 1024 * 1024
"""What a transcript holds, unless it is told otherwise."""
PIECE = 64
"""What each piece counts for beside its text."""
LINE = 200
"""How many characters of a title or the like stay whatever the limit is; one that is no longer weighs nothing."""
CONTENT: Mapping[str, Mapping[str, Any]] = {
    "tool_calls": {"content": Items[Any](), "raw_input": None, "raw_output": None},
    "terminals": {"output": Output()},
    "plans": {"entries": [], "raw": None},
    "compactions": {"summary": Items[Any]()},
}
"""By kind of entity, the content that the limit counts, and what remains of it when it is dropped."""
DETAILS: Mapping[str, tuple[str, ...]] = {
    "messages": ("meta",),
    "tool_calls": ("title", "name", "locations", "meta"),
    "terminals": ("command", "cwd", "meta"),
    "plans": ("meta",),
    "compactions": ("error", "meta"),
    "unknown": (),
}
"""What it counts beside the content."""
_STEP = 64 * 1024

_encode = Encoder(enc_hook=repr).encode  # the quickest way to add up all that is in a word


def weigh(value: Any) -> int:
    """The weight of what a field holds; None and an empty list weigh nothing."""
    if isinstance(value, Items):
        return sum([weigh_piece(piece) for piece in value])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Output):
        return len(value)
    return 0 if value is None or value == [] else _encoded(value)


def weigh_detail(value: Any) -> int:
    """The weight of something told beside a content; that of what is `left_of` it is nothing."""
    if isinstance(value, str):
        return weigh_text(value) if len(value) > LINE else 0
    return weigh(value)


def left_of(detail: Any) -> Any:
    """What stays of something told beside a content that is dropped: the beginning of a text, else nothing."""
    if isinstance(detail, str):
        return detail[:LINE]
    return [] if isinstance(detail, list) else None


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
    if table == "unknown":
        return weigh(entity.raw)
    return sum([weigh(getattr(entity, name)) for name in CONTENT[table]])


def details_weight(table: str, entity: Any) -> int:
    """The weight of what is told of an entity beside its content."""
    return sum([weigh_detail(getattr(entity, name)) for name in DETAILS[table]])


def details_growth(table: str, before: Any, after: Any) -> int:
    """What an entity's details weigh more than before; those that are still the same are not weighed again."""
    if before is None:
        return details_weight(table, after)
    growth = 0
    for name in DETAILS[table]:
        old, new = getattr(before, name), getattr(after, name)
        if new is not old:
            growth += weigh_detail(new) - weigh_detail(old)
    return growth


def _encoded(value: Any) -> int:
    for measure in (_encode, repr):
        try:
            return len(measure(value))
        except (ValueError, OverflowError, RecursionError):  # half a character, a number that is too long, too deep
            continue
    return PIECE
