"""Checks the form of what is told and asked: members of their type, numbers in their range, blocks that can be read.

Structs check nothing of what they are given. One wrong value on the wire is a frame that a client refuses, and one in a
journal makes a whole session unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar, get_args

import msgspec

from accord.errors import NotContent
from accord.jsonrpc.codec import check_numbers
from accord.session.content import Annotations, Content, Resource, ResourceLink, is_plain
from accord.session.entities import ContentItem
from accord.session.updates import TerminalAppend, ToolCallAppend
from accord.session.value import UNSET, Unknown
from accord.session.vocabulary import AUDIENCES

__all__ = ["check_block", "check_form", "check_number", "check_type", "checked", "is_number"]

T = TypeVar("T", bound=msgspec.Struct)
Direction = Literal["told", "asked"]

_BLOCKS = get_args(Content)
_INT64 = 2**63 - 1


def check_type(value: Any, kind: type[Any] | tuple[type[Any], ...], what: str) -> None:
    """TypeError that names what is expected, for anything else."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {what}, not {type(value).__name__}")


def is_number(value: Any, least: int, most: int) -> bool:
    """Whether it is a whole number in this range; a truth value is not."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_number(what: str, value: Any, least: int, most: int) -> None:
    """ValueError that names the range, for anything else."""
    if not is_number(value, least, most):
        raise ValueError(f"invalid {what} {value!r}: expected a whole number from {least} to {most}")


def check_block(block: Content) -> None:
    """A block of content, by the rules that its type can't express. TypeError for what is no block."""
    if not isinstance(block, _BLOCKS):
        raise NotContent(type(block).__name__)
    if isinstance(block, Unknown):
        return
    if block.annotations is not None:
        _check_annotations(block.annotations)
    if isinstance(block, Resource) and (block.text is None) == (block.blob is None):
        raise ValueError(f"the resource {block.uri!r} must have a text or a blob, and not both")
    if isinstance(block, ResourceLink) and block.size is not None:
        check_number("size", block.size, 0, _INT64)


def _check_annotations(hints: Annotations) -> None:
    for each in hints.audience or ():
        AUDIENCES.check(each)
    priority: Any = hints.priority
    if isinstance(priority, int | float) and not 0 <= priority <= 1:
        raise ValueError(f"invalid priority {priority!r}: expected a number from 0 to 1")


def checked(word: T, rule: Callable[[T], T], done: Direction = "told") -> T:
    """What a rule makes of a word. A rule expects values of the right types: where they are not, that is what is raised."""
    try:
        result = rule(word)
    except NotContent:
        raise
    except (AttributeError, TypeError):
        check_form(word, done)
        raise
    check_form(result, done)
    return result


def check_form(word: msgspec.Struct, done: Direction = "told") -> None:
    """ValueError for a word that could not be read by whoever gets it."""
    if type(word) is TerminalAppend or _is_text(word):  # they come often
        return
    try:
        try:
            _reader(type(word))(_write(word))
        except UnicodeEncodeError:
            _reader(type(word))(_write_mended(word))
        if _may_hold_odd_numbers(word):
            check_numbers(word)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this can't be {done}: {error}") from error


def _may_hold_odd_numbers(word: msgspec.Struct) -> bool:
    """Whether there may be NaN or an infinity in it: msgspec writes them as null, and MessagePack shows where to look."""
    try:
        return _ODD.search(_pack(word)) is not None
    except (OverflowError, UnicodeEncodeError):  # a number beyond 64 bits, or half a surrogate pair
        return True


def _is_text(word: msgspec.Struct) -> bool:
    """Whether it adds a plain text to what a tool call shows."""
    if type(word) is not ToolCallAppend or word.meta is not UNSET or type(word.item) is not ContentItem:
        return False
    block: Any = word.item.content
    return word.item.meta is None and is_plain(block) and type(block.text) is str and type(word.id) is str


def _has_no_form(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_write = msgspec.json.Encoder(enc_hook=_has_no_form).encode
_pack = msgspec.msgpack.Encoder(enc_hook=_has_no_form).encode
_ODD = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")  # all bits of the exponent are set


def _write_mended(word: msgspec.Struct) -> bytes:
    """Half a surrogate pair is mended on the wire and in the journal, so it is no fault."""
    plain = msgspec.to_builtins(word, str_keys=True, enc_hook=_has_no_form)
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


@cache  # made when first needed: it takes a moment
def _reader(kind: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(kind).decode
