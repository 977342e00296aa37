"""Session words as bytes, under a format number.

MessagePack, because a journal is a quarter smaller than in JSON and written 1.2 to 1.6 times as fast (terminal output,
which JSON has to carry in base64, 12 times), at the same speed of reading text. What it cannot hold, integers beyond 64
bits, goes into an entry of its own in JSON.

Law: what was written can be read. Structs do not check what they are made of, and one wrong value would make a whole
session unreadable; so everything but plain pieces of text is read back before it is accepted.
A change of the words that makes old entries unreadable, or new ones unreadable for an older accord, takes a new number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec

from accord.errors import Malformed, Unencodable
from accord.session.updates import Patch

T = TypeVar("T")

MESSAGE_PACK, JSON = 1, 2


def _to_wire(value: Any) -> Any:
    wire = getattr(value, "__wire__", None)
    if wire is None:
        raise TypeError(f"a {type(value).__name__} has no JSON form")
    return wire()


_pack = msgspec.msgpack.Encoder(enc_hook=_to_wire).encode
_pack_json = msgspec.json.Encoder(enc_hook=_to_wire).encode


@cache  # made when first needed: it takes milliseconds, which a program that only starts need not spend
def _check(form: int) -> Callable[[bytes], Patch]:
    return (msgspec.json if form == JSON else msgspec.msgpack).Decoder(Patch).decode


@cache  # as above
def _reader(form: int) -> Callable[[bytes], list[Patch]]:
    return (msgspec.json if form == JSON else msgspec.msgpack).Decoder(list[Patch]).decode


def packed(report: Patch) -> tuple[int, bytes]:
    """One report and the format it has; raises Unencodable for what could not be read back."""
    try:
        try:
            return MESSAGE_PACK, _checked(report)
        except (UnicodeEncodeError, msgspec.ValidationError, OverflowError):
            return _packed_anyway(_mended(_plain(report)))
    except Exception as error:  # a __wire__ may raise anything
        raise Unencodable(f"A {type(report).__name__}", str(error)) from error


def packed_piece(piece: Patch) -> bytes:
    """A plain piece of text, or of a terminal's output, in MessagePack."""
    try:
        return _pack(piece)
    except UnicodeEncodeError:
        return _pack(_mended(_plain(piece)))


def together(form: int, packed_reports: list[bytes]) -> bytes:
    """One entry of a journal, of reports packed in its format."""
    if form == JSON:
        return b"[" + b",".join(packed_reports) + b"]"
    return b"".join([b"\xdd", len(packed_reports).to_bytes(4, "big"), *packed_reports])  # an array, its length first


def copied(word: T) -> T:
    """A word as it would be read back; raises Unencodable."""
    try:
        return msgspec.convert(_mended(_plain(word)), type(word))
    except Exception as error:  # as in packed
        raise Unencodable(f"A {type(word).__name__}", str(error)) from error


def read_back(form: int, entry: bytes) -> list[Patch]:
    """The reports of an entry; raises Malformed, whose reason never quotes them."""
    if form not in (MESSAGE_PACK, JSON):
        known = f"{MESSAGE_PACK} and {JSON}"
        raise Malformed("$", f"it has format {form} and this accord reads {known}; a newer accord may have written it")
    try:
        if form == MESSAGE_PACK and _MAYBE_NOT_FINITE.search(entry):
            return msgspec.convert(_finite(msgspec.msgpack.decode(entry)), list[Patch])
        return _reader(form)(entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise Malformed("$", f"it is damaged ({error})") from error


# A number of which all bits of the exponent are set; what looks like one inside of a text is left as it is.
_MAYBE_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")


def _finite(value: Any) -> Any:
    """NaN and the infinities become None: an earlier accord wrote them, though they can't be told (JSON has none)."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_finite(item) for item in cast("list[Any]", value)]
    return value


def _checked(report: object) -> bytes:
    entry = _pack(report)
    _check(MESSAGE_PACK)(entry)
    return entry


def _packed_anyway(plain: Any) -> tuple[int, bytes]:
    try:
        return MESSAGE_PACK, _checked(plain)
    except OverflowError:
        entry = _pack_json(plain)
        _check(JSON)(entry)
        return JSON, entry


def _plain(report: object) -> Any:
    return msgspec.to_builtins(report, builtin_types=(bytes,), str_keys=True, enc_hook=_to_wire)


def _mended(value: Any) -> Any:
    """Halves of surrogate pairs become U+FFFD, as on the wire; two that belong together become their character."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("list[Any]", value)]
    return value
