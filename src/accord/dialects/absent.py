"""Between the wire, where a member can be missing, and session words, where None says that."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from accord.session.message import Message
from accord.session.updates import Upsert
from accord.session.word import Patched, Word

__all__ = ["known", "listed", "meta_whole", "told"]

T = TypeVar("T")


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
