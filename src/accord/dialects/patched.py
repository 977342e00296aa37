"""Three-state members: what is left out and what is null says the same on both sides, only values are converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import UNSET

from accord.session.word import Patched

__all__ = ["each", "one"]

T = TypeVar("T")
U = TypeVar("U")


def one(value: Patched[T], convert: Callable[[T], U]) -> Patched[U]:
    """A value that may be UNSET or None."""
    return value if value is UNSET or value is None else convert(value)


def each(values: Patched[list[T]], convert: Callable[[T], U]) -> Patched[list[U]]:
    """A list that may be UNSET or None."""
    return values if values is UNSET or values is None else [convert(value) for value in values]
