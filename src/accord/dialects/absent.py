"""Between the wire, where a member can be missing, and session words, where None says that."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from accord.session.updates import Upsert

__all__ = ["known", "meta_whole", "told"]

T = TypeVar("T")


def known(value: T | None | UnsetType) -> T | None:
    """A wire member as a word: missing and null are both None."""
    return None if value is UNSET else value  # type: ignore[return-value]  # UNSET is a singleton of UnsetType


def told(value: T | None) -> T | UnsetType:
    """A word as a wire member: None is left out."""
    return UNSET if value is None else value


def meta_whole(patch: Upsert, entity: Any) -> Any:
    """The `_meta` that a patch leaves an entity with, for versions where an object replaces the stored one."""
    return patch.meta if not patch.meta else entity.meta or {}
