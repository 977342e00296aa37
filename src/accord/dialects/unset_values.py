"""Converts members that may be missing or null on the wire; in session types None means both.

Only patches have all three states, as the wire does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from accord.session.message import Message
from accord.session.updates import EntityPatch
from accord.session.value import Tristate, Value

T = TypeVar("T")
U = TypeVar("U")


def none_if_unset(value: T | None | UnsetType) -> T | None:
    """A wire member in a session type: missing and null are both None."""
    return None if value is UNSET else value


def list_or_empty(value: list[T] | None | UnsetType) -> list[T]:
    """A wire list in a session type: missing and null are empty."""
    return [] if value is UNSET or value is None else value


def unset_if_none(value: T | None) -> T | UnsetType:
    """A value as a wire member: None is omitted."""
    return UNSET if value is None else value


def whole_meta(patch: EntityPatch, entity: Value | Message) -> Tristate[dict[str, Any]]:
    """The `_meta` of an entity after a patch, for versions in which it replaces the stored one."""
    return patch.meta if patch.meta is UNSET or patch.meta is None else entity.meta or {}


def map_value(value: Tristate[T], convert: Callable[[T], U]) -> Tristate[U]:
    """A member with three states; only a value is converted."""
    return value if value is UNSET or value is None else convert(value)


def map_list(values: Tristate[list[T]], convert: Callable[[T], U]) -> Tristate[list[U]]:
    """A list with three states; only the values are converted."""
    return values if values is UNSET or values is None else [convert(value) for value in values]
