"""Between the wire, where a member can be missing or null, and session words, where None says both.

Only the words of patches have all three states, as the wire does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from accord.session.message import Message
from accord.session.updates import EntityPatch
from accord.session.value import Tristate, Value

__all__ = ["list_or_empty", "map_list", "map_value", "meta_whole", "none_if_unset", "unset_if_none"]

T = TypeVar("T")
U = TypeVar("U")


def none_if_unset(value: T | None | UnsetType) -> T | None:
    """A wire member as a word: missing and null are both None."""
    return None if value is UNSET else value


def list_or_empty(value: list[T] | None | UnsetType) -> list[T]:
    """A wire list as a word: missing and null are empty."""
    return [] if value is UNSET or value is None else value


def unset_if_none(value: T | None) -> T | UnsetType:
    """A word as a wire member: None is left out."""
    return UNSET if value is None else value


def meta_whole(patch: EntityPatch, entity: Value | Message) -> Tristate[dict[str, Any]]:
    """The `_meta` that a patch leaves an entity with, for versions where an object replaces the stored one."""
    return patch.meta if patch.meta is UNSET or patch.meta is None else entity.meta or {}


def map_value(value: Tristate[T], convert: Callable[[T], U]) -> Tristate[U]:
    """A member with three states, of which only a value is converted."""
    return value if value is UNSET or value is None else convert(value)


def map_list(values: Tristate[list[T]], convert: Callable[[T], U]) -> Tristate[list[U]]:
    """A list with three states, of which only the values are converted."""
    return values if values is UNSET or values is None else [convert(value) for value in values]
