"""Reads JSON as wire types: with msgspec alone if it is well-formed, else again with the tolerance of the markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import msgspec

from accord.errors import Malformed
from accord.schema.malformed_values import Path, path_text

if TYPE_CHECKING:
    from accord.schema.tolerant_reader import Walk

T = TypeVar("T")

_TOO_LARGE: Any = object()
_OUT_OF_RANGE = "number out of range"

# Every escape is matched, so that the second backslash of `\\ud83d` is not taken for the start of one.
_ESCAPES = (  # compiled when first used
    rb"(?s)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


class Reader(Generic[T]):
    """Reads one wire type: `decode` and `convert` return a value of the type or raise `Malformed`.

    Tolerated errors are added to `notes`. With `strict` there are none: unknown members, variants and enum values, loose
    forms and all malformed values are errors.
    """

    __slots__ = ("_decode", "_expected", "_strict", "_walk")

    @overload
    def __init__(self, expected: type[T], strict: bool = False) -> None: ...
    @overload
    def __init__(self: Reader[Any], expected: Any, strict: bool = False) -> None: ...

    def __init__(self, expected: Any, strict: bool = False) -> None:
        self._expected = expected
        self._strict = strict
        # Both are built on first use: building them for every type takes longer than starting an agent.
        self._decode: Callable[[bytes | msgspec.Raw], T] | None = None
        self._walk: Walk | None = None

    def decode(self, raw: bytes | msgspec.Raw, notes: list[str] | None = None) -> T:
        """Read a JSON text.

        Half of a surrogate pair, as in an emoji that was cut in two, is read as U+FFFD; a number too large for a float
        is read as null.
        """
        if not self._strict:
            if self._decode is None:
                self._decode = msgspec.json.Decoder(self._expected).decode
            try:
                return self._decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # the second pass tolerates it or reports it
        value, out_of_range = _parse(raw)
        if out_of_range and self._strict:
            raise Malformed(out_of_range[0], _OUT_OF_RANGE)
        try:
            read = self._read(value, notes)
        except Malformed as error:
            if error.path in out_of_range:
                raise Malformed(error.path, _OUT_OF_RANGE) from error
            raise
        if notes is not None:
            notes.extend(f"{place}: {_OUT_OF_RANGE}, read as null" for place in out_of_range)
        return read

    def convert(self, value: Any, notes: list[str] | None = None) -> T:
        """Read a parsed JSON value."""
        if not self._strict:
            try:
                return msgspec.convert(value, self._expected)
            except (msgspec.ValidationError, OverflowError, RecursionError):
                pass
        return self._read(value, notes)

    def _read(self, value: Any, notes: list[str] | None) -> T:
        if self._walk is None:
            from accord.schema.tolerant_reader import walk_for  # noqa: PLC0415  # not loaded when an agent starts

            self._walk = walk_for(self._expected, strict=self._strict)
        return self._walk(value, None, notes)


def _parse(raw: bytes | msgspec.Raw) -> tuple[Any, list[str]]:
    """The value, with null for numbers that are out of range, and the paths of those."""
    try:
        try:
            return msgspec.json.decode(raw), []
        except msgspec.ValidationError:  # without a type to validate against, this can only be a number
            return _parse_out_of_range(raw)
        except msgspec.DecodeError:
            repaired = re.sub(_ESCAPES, _replace_half, bytes(raw))
            try:
                return msgspec.json.decode(repaired), []
            except msgspec.ValidationError:
                return _parse_out_of_range(repaired)
    except UnicodeDecodeError:
        reason = "not valid UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:  # also msgspec's
        reason = "not valid JSON"
    raise Malformed("$", reason)


def _replace_half(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]


def _parse_out_of_range(raw: bytes | msgspec.Raw) -> tuple[Any, list[str]]:
    import json  # noqa: PLC0415  # not loaded when an agent starts

    text = re.sub(_ESCAPES, _replace_half, bytes(raw))
    parsed: Any = json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_reject_constant)
    out_of_range: list[str] = []
    top: list[Any] = [parsed]
    stack: list[tuple[Any, Path]] = [(top, None)]
    while stack:
        holder, path = stack.pop()
        for key, value in _members(holder):
            place = None if holder is top else (path, key)
            if value is _TOO_LARGE:
                out_of_range.append(path_text(place))
                holder[key] = None
            elif type(value) in (dict, list):
                stack.append((value, place))
    return top[0], out_of_range


def _members(holder: Any) -> Iterable[tuple[Any, Any]]:
    return cast("dict[str, Any]", holder).items() if type(holder) is dict else enumerate(cast("list[Any]", holder))


def _float(digits: str) -> Any:
    number = float(digits)
    return number if isfinite(number) else _TOO_LARGE


def _int(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:  # Python limits the number of digits
        return _TOO_LARGE


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
