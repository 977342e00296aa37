"""From JSON to wire types: at full speed when it is well-formed, with the markers' tolerance when it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import msgspec

from accord.errors import Malformed
from accord.schema.walking import Walk, walk_for

__all__ = ["Reader"]

T = TypeVar("T")

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
        """What a JSON text says. Half a surrogate pair, as left by an emoji cut in two, is read as U+FFFD."""
        if not self._strict:
            if self._decode is None:
                self._decode = msgspec.json.Decoder(self._expected).decode
            try:
                return self._decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # whatever it was: the second reading forgives it or names it
        return self._read(_parsed(raw), notes)

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


def _parsed(raw: bytes | msgspec.Raw) -> Any:
    try:
        try:
            return msgspec.json.decode(raw)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.json.decode(_ESCAPES.sub(_mended, bytes(raw)))
    except UnicodeDecodeError:
        reason = "not valid UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except msgspec.ValidationError:  # the only one without a type to validate against
        reason = "number out of range"
    except msgspec.DecodeError:
        reason = "not valid JSON"
    raise Malformed("$", reason)


def _mended(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]
