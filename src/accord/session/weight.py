"""How much of the transcript's byte limit something uses up: about the bytes it had on the wire.

Law: what was added piece by piece weighs as much as the whole does, so that it can be taken off again.
"""

from __future__ import annotations

from typing import Any

from msgspec.msgpack import Encoder

from accord.session.content import Text, is_plain
from accord.session.growing import Items, Output

__all__ = ["PIECE", "weigh", "weigh_piece", "weigh_text"]

PIECE = 64
"""What each piece counts for beside its text."""

_encode = Encoder(enc_hook=repr).encode  # the quickest way to add up all that is in a word


def weigh(value: Any) -> int:
    """The weight of what a field holds; nothing weighs nothing."""
    if value is None:
        return 0
    if isinstance(value, Items):
        return sum([weigh_piece(piece) for piece in value])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Output):
        return len(value)
    return _encoded(value)


def weigh_piece(piece: Any) -> int:
    """The weight of one block or item of a content."""
    if type(piece) is Text and is_plain(piece):
        return PIECE + weigh_text(piece.text)
    return PIECE + _encoded(piece)


def weigh_text(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _encoded(value: Any) -> int:
    try:
        return len(_encode(value))
    except (ValueError, OverflowError, RecursionError):  # half a character, a number of more than 64 bits, too deep
        return len(repr(value))
