"""From JSON to wire types: at full speed when it is well-formed, with the markers' tolerance when it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Generic, TypeVar, cast, overload

import msgspec

from accord.errors import Malformed
from accord.schema.refusals import Path, spelled
from accord.schema.tolerant_reader import Walk, walk_for

__all__ = ["Reader"]

T = TypeVar("T")

_BEYOND: Any = object()
_OUT_OF_RANGE = "number out of range"

# Every escape is matched, so that the second backslash of `\\ud83d` is not taken for the start of one.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


class Reader(Generic[T]):
    """Reads one wire type, again and again: whatever it is given, a value of the type comes out, or `Malformed`.

    What is forgiven on the way is told in `notes`. With `strict` nothing is: unknown members, variants and enum values,
    loose forms and every malformed value are errors.
    """

    __slots__ = ("_decode", "_expected", "_strict", "_walk")

    @overload
    def __init__(self, expected: type[T], strict: bool = False) -> None: ...
    @overload
    def __init__(self: Reader[Any], expected: Any, strict: bool = False) -> None: ...

    def __init__(self, expected: Any, strict: bool = False) -> None:
        self._expected = expected
        self._strict = strict
        # Both are made when first needed: to make them for every type takes longer than to start an agent.
        self._decode: Callable[[bytes | msgspec.Raw], T] | None = None
        self._walk: Walk | None = None

    def decode(self, raw: bytes | msgspec.Raw, notes: list[str] | None = None) -> T:
        """What a JSON text says.

        Half a surrogate pair, as left by an emoji cut in two, is read as U+FFFD; a number that no float can hold, as null.
        """
        if not self._strict:
            if self._decode is None:
                self._decode = msgspec.json.Decoder(self._expected).decode
            try:
                return self._decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # whatever it was: the second reading forgives it or names it
        value, beyond = _parsed(raw)
        if beyond and self._strict:
            raise Malformed(beyond[0], _OUT_OF_RANGE)
        try:
            read = self._read(value, notes)
        except Malformed as error:
            if error.path in beyond:
                raise Malformed(error.path, _OUT_OF_RANGE) from error
            raise
        if notes is not None:
            notes.extend(f"{place}: {_OUT_OF_RANGE}, read as null" for place in beyond)
        return read

    def convert(self, value: Any, notes: list[str] | None = None) -> T:
        """What an already parsed JSON value says."""
        if not self._strict:
            try:
                return msgspec.convert(value, self._expected)
            except (msgspec.ValidationError, OverflowError, RecursionError):
                pass
        return self._read(value, notes)

    def _read(self, value: Any, notes: list[str] | None) -> T:
        if self._walk is None:
            self._walk = walk_for(self._expected, strict=self._strict)
        return self._walk(value, None, notes)


def _parsed(raw: bytes | msgspec.Raw) -> tuple[Any, list[str]]:
    """The value, and the places of numbers that are out of range, where it has null."""
    try:
        try:
            return msgspec.json.decode(raw), []
        except msgspec.ValidationError:  # without a type to validate against, it can only be a number
            return _within_range(raw)
        except msgspec.DecodeError:
            mended = _ESCAPES.sub(_mended, bytes(raw))
            try:
                return msgspec.json.decode(mended), []
            except msgspec.ValidationError:
                return _within_range(mended)
    except UnicodeDecodeError:
        reason = "not valid UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:  # also msgspec's
        reason = "not valid JSON"
    raise Malformed("$", reason)


def _mended(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]


def _within_range(raw: bytes | msgspec.Raw) -> tuple[Any, list[str]]:
    text = _ESCAPES.sub(_mended, bytes(raw))
    parsed: Any = json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_refuse_constant)
    beyond: list[str] = []
    top: list[Any] = [parsed]
    waiting: list[tuple[Any, Path]] = [(top, None)]
    while waiting:
        holder, path = waiting.pop()
        for key, value in _members(holder):
            place = None if holder is top else (path, key)
            if value is _BEYOND:
                beyond.append(spelled(place))
                holder[key] = None
            elif type(value) in (dict, list):
                waiting.append((value, place))
    return top[0], beyond


def _members(holder: Any) -> Iterable[tuple[Any, Any]]:
    return cast("dict[str, Any]", holder).items() if type(holder) is dict else enumerate(cast("list[Any]", holder))


def _float(digits: str) -> Any:
    number = float(digits)
    return number if isfinite(number) else _BEYOND


def _int(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:  # Python reads no more than some thousand digits
        return _BEYOND


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
