"""What a wire type must have and may have, tried out member by member."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import pytest

from accord.errors import Malformed
from accord.schema.reader import Reader
from accord.schema.wire_values import Known

__all__ = ["assert_shape", "kept", "known", "marker", "read", "refuses", "write"]


Kind = TypeVar("Kind")


def marker(annotation: Any, kind: type[Kind]) -> Kind:
    (found,) = (each for each in annotation.__metadata__ if isinstance(each, kind))
    return found


def known(enum: Any) -> Known:
    return marker(enum, Known)


def read(expected: Any, value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value), type=expected)


def write(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def kept(expected: Any, value: Any) -> Any:
    """What is written of a value that was read with tolerance, as in a message."""
    read = Reader(expected).convert(value)
    return msgspec.json.decode(msgspec.json.encode(read, enc_hook=lambda unknown: unknown.__wire__()))


def refuses(expected: Any, value: Any) -> bool:
    try:
        read(expected, value)
    except msgspec.ValidationError:
        return True
    return False


def assert_shape(
    expected: Any,
    required: dict[str, Any],
    optional: dict[str, Any] | None = None,
    opaque: tuple[str, ...] = (),
    forgiven: tuple[str, ...] = (),
) -> None:
    """The required members are enough, each is needed, the others may be added, and none takes another type.

    `opaque` members take any JSON value. A `forgiven` one may be missing, but not in strict mode.
    """
    optional = optional or {}
    everything = required | optional
    assert write(read(expected, required)) == required
    assert write(read(expected, everything)) == everything
    for key in required:
        without = {name: value for name, value in required.items() if name != key}
        assert refuses(expected, without) is (key not in forgiven), f"{key} is not needed"
        with pytest.raises(Malformed):
            Reader(expected, strict=True).convert(without)
    for key, value in everything.items():
        wrong = "text" if isinstance(value, float) else 0.5
        if key not in opaque and not refuses(expected, everything | {key: wrong}):
            pytest.fail(f"{key} may be {wrong!r}")
