"""How much of the transcript's byte limit something uses up: about the bytes it had on the wire.

Law: what was added piece by piece weighs as much as the whole does, so that it can be taken off again.
"""

from __future__ import annotations

from typing import Any

from msgspec.msgpack import Encoder

from accord.session.content import Text, is_plain
from accord.session.growing import Items, Output

__all__ = ["LINE", "PIECE", "left_of", "weigh", "weigh_detail", "weigh_piece", "weigh_text"]

PIECE = 64
"""What each piece counts for beside its text."""
LINE = 200
"""How many characters of a title or the like stay whatever the limit is; one that is no longer weighs nothing."""
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


def _encoded(value: Any) -> int:
    for measure in (_encode, repr):
        try:
            return len(measure(value))
        except (ValueError, OverflowError, RecursionError):  # half a character, a number that is too long, too deep
            continue
    return PIECE
