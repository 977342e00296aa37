"""Between the wire, where a member can be missing or null, and session words, where None says both.

Only the words of patches have all three states, as the wire does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from accord.session.message import Message
from accord.session.updates import Upsert
from accord.session.value import Patched, Word

__all__ = ["each", "known", "listed", "meta_whole", "one", "told"]

T = TypeVar("T")
U = TypeVar("U")


def known(value: T | None | UnsetType) -> T | None:
    """A wire member as a word: missing and null are both None."""
    return None if value is UNSET else value


def listed(value: list[T] | None | UnsetType) -> list[T]:
    """A wire list as a word: missing and null are empty."""
    return [] if value is UNSET or value is None else value


def told(value: T | None) -> T | UnsetType:
    """A word as a wire member: None is left out."""
    return UNSET if value is None else value


def meta_whole(patch: Upsert, entity: Word | Message) -> Patched[dict[str, Any]]:
    """The `_meta` that a patch leaves an entity with, for versions where an object replaces the stored one."""
    return patch.meta if patch.meta is UNSET or patch.meta is None else entity.meta or {}


def one(value: Patched[T], convert: Callable[[T], U]) -> Patched[U]:
    """A member with three states, of which only a value is converted."""
    return value if value is UNSET or value is None else convert(value)


def each(values: Patched[list[T]], convert: Callable[[T], U]) -> Patched[list[U]]:
    """A list with three states, of which only the values are converted."""
    return values if values is UNSET or values is None else [convert(value) for value in values]
