"""Three-state members: what is left out and what is null says the same on both sides, only values are converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

__all__ = ["each", "one"]


def one(value: Any, convert: Callable[[Any], Any]) -> Any:
    """A value that may be UNSET or None."""
    return value if value is UNSET or value is None else convert(value)


def each(values: Any, convert: Callable[[Any], Any]) -> Any:
    """A list that may be UNSET or None."""
    return [convert(value) for value in values] if values else values
