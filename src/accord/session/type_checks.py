"""Checks the types of patches and requests before they are sent: fields, ranges of numbers, content blocks.

Structs do not check their arguments. One value of a wrong type on the wire is a frame that the peer rejects, and one in
a journal makes a whole session unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec

from accord.errors import NotContent
from accord.jsonrpc.codec import check_numbers
from accord.session.content import Annotations, Content, Resource, ResourceLink, is_plain
from accord.session.entities import ContentItem
from accord.session.open_enums import AUDIENCES
from accord.session.updates import TerminalAppend, ToolCallAppend
from accord.session.value import UNSET, Unknown

T = TypeVar("T", bound=msgspec.Struct)

_BLOCKS = get_args(Content)
_INT64 = 2**63 - 1


def check_type(value: Any, kind: type[Any] | tuple[type[Any], ...], what: str) -> None:
    """TypeError that names what is expected, for anything else."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {what}, not {type(value).__name__}")


def is_number(value: Any, least: int, most: int) -> bool:
    """Whether it is an integer in this range; a boolean is not."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_number(what: str, value: Any, least: int, most: int) -> None:
    """ValueError that names the range, for anything else."""
    if not is_number(value, least, most):
        raise ValueError(f"invalid {what} {value!r}: expected an integer from {least} to {most}")


def check_block(block: Content) -> None:
    """Check a content block by the rules that its type can't express. NotContent for any other object."""
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
    for audience in hints.audience or ():
        AUDIENCES.check(audience)
    priority: Any = hints.priority
    if isinstance(priority, int | float) and not 0 <= priority <= 1:
        raise ValueError(f"invalid priority {priority!r}: expected a number from 0 to 1")


def apply_rule(struct: T, rule: Callable[[T], T | None]) -> T:
    """Check a struct by a rule, which may return a copy to use instead; then check its types.

    A rule expects the right types: if it fails because of others, the error of `check_types` is raised.
    """
    try:
        result = rule(struct) or struct
    except NotContent:
        raise
    except (AttributeError, TypeError):
        check_types(struct)
        raise
    check_types(result)
    return result


def check_types(struct: msgspec.Struct) -> None:
    """ValueError for a struct that its receiver could not read."""
    if type(struct) is TerminalAppend or _is_text(struct):  # they are frequent
        return
    try:
        try:
            encoded = _encode(struct)
        except UnicodeEncodeError:
            encoded = _encode_replacing(struct)
        _decoder(type(struct))(encoded)
        if b"null" in encoded and _may_have_odd_numbers(struct):  # as which NaN is written
            check_numbers(struct)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this can't be sent: {error}") from error


def _may_have_odd_numbers(struct: msgspec.Struct) -> bool:
    """Whether there may be NaN or an infinity in it: msgspec writes them as null in JSON, but not in MessagePack."""
    try:
        return _ODD.search(_pack(struct)) is not None
    except (OverflowError, UnicodeEncodeError):  # a number beyond 64 bits, or a lone surrogate
        return True


def _is_text(struct: msgspec.Struct) -> bool:
    """Whether it appends plain text to the content of a tool call."""
    if type(struct) is not ToolCallAppend or struct.meta is not UNSET or type(struct.item) is not ContentItem:
        return False
    block: Any = struct.item.content
    return struct.item.meta is None and is_plain(block) and type(block.text) is str and type(struct.id) is str


def _reject(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} has no JSON form")


_encode = msgspec.json.Encoder(enc_hook=_reject).encode
_pack = msgspec.msgpack.Encoder(enc_hook=_reject).encode
_ODD = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")  # all bits of the exponent are set


def _encode_replacing(struct: msgspec.Struct) -> bytes:
    """A lone surrogate is replaced on the wire and in the journal, so it is not an error."""
    plain = msgspec.to_builtins(struct, str_keys=True, enc_hook=_reject)
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


@cache  # made when first needed: it takes a moment
def _decoder(kind: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(kind).decode
