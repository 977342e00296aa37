"""Environment variables and headers: a dict in words; on the wire a list of names and values, in v1's logins a dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from accord.dialects.absent import listed

__all__ = ["pairs_from_wire", "pairs_to_wire"]


def pairs_to_wire(kind: type[Any], values: Mapping[str, str]) -> list[Any]:
    """The values, each as an object of this type."""
    return [kind(name=name, value=value) for name, value in values.items()]


def pairs_from_wire(pairs: Any) -> dict[str, str]:
    """The values by name; of two with the same name the last one counts."""
    if isinstance(pairs, dict):
        return cast("dict[str, str]", pairs)
    return {pair.name: pair.value for pair in listed(pairs)}
