"""Checks the form of what is told: numbers in their range, members of their type, and any JSON where there may be any.

Structs check nothing of what they are given. One wrong value on the wire is a frame that a client refuses, and one in a
journal makes a whole session unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from accord.jsonrpc.codec import check_numbers
from accord.session.content import is_plain
from accord.session.entities import ContentItem
from accord.session.updates import Report, TerminalPiece, ToolCallPiece
from accord.session.word import UNSET

__all__ = ["check_form", "check_number", "is_number"]


def is_number(value: Any, least: int, most: int) -> bool:
    """Whether it is a whole number in this range; a truth value is not."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_number(what: str, value: Any, least: int, most: int) -> None:
    """ValueError that names the range, for anything else."""
    if not is_number(value, least, most):
        raise ValueError(f"invalid {what} {value!r}: expected a whole number from {least} to {most}")


def check_form(report: Report) -> None:
    """ValueError for a report that could not be read by whoever is told of it."""
    if type(report) is TerminalPiece or _is_text(report):  # they come often
        return
    try:
        _reader(type(report))(_write(report))
        if _may_hold_odd_numbers(report):
            check_numbers(report)
    except UnicodeEncodeError:
        return  # half a surrogate pair is mended on the wire and in the journal
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this can't be told: {error}") from error


def _may_hold_odd_numbers(report: Report) -> bool:
    """Whether there may be NaN or an infinity in it: msgspec writes them as null, and MessagePack shows where to look."""
    try:
        return _ODD.search(_pack(report)) is not None
    except OverflowError:  # a number beyond 64 bits
        return True


def _is_text(report: Report) -> bool:
    """Whether it adds a plain text to what a tool call shows."""
    if type(report) is not ToolCallPiece or report.meta is not UNSET or type(report.item) is not ContentItem:
        return False
    block: Any = report.item.content
    return report.item.meta is None and is_plain(block) and type(block.text) is str and type(report.id) is str


def _has_no_form(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_write = msgspec.json.Encoder(enc_hook=_has_no_form).encode
_pack = msgspec.msgpack.Encoder(enc_hook=_has_no_form).encode
_ODD = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")  # all bits of the exponent are set


@cache  # made when first needed: it takes a moment
def _reader(kind: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(kind).decode
