"""What every session word has: `meta`, a form that can be stored, and a place for what accord has no word for."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "Tristate", "Unknown", "UnsetType", "Value"]

T = TypeVar("T")

Tristate: TypeAlias = T | None | UnsetType
"""A field of a patch: `UNSET` keeps the stored value, `None` clears it, a value replaces it."""


class Value(msgspec.Struct, kw_only=True, gc=False):
    """A session word. `meta` is the protocol's `_meta`: it travels with the word, both ways, untouched."""

    meta: dict[str, Any] | None = None


class Unknown(Value, tag_field="type", tag="unknown"):
    """A variant that accord has no word for, kept whole and written back as it came to a peer of the same version.

    `version` is set to the one it was read in where that lists all variants there are (v1); nobody else can be told
    in that version.
    """

    tag: str
    raw: dict[str, Any]
    version: str | None = None
