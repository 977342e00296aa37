"""One value under two keys: v1's and v2's.

Whichever key was read, both members hold the value afterwards and both keys are written, so a peer of either age finds
the one it knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Union

from accord.schema.wire_values import DEFAULT_ON_ERROR, UNSET, UnsetType

__all__ = ["EITHER", "Spelled", "spelled"]

T = TypeVar("T")

if TYPE_CHECKING:
    Spelled: TypeAlias = T
else:
    # One of the two is needed, so neither is required by itself.
    Spelled = Annotated[Union[T, UnsetType], DEFAULT_ON_ERROR]

EITHER: Any = UNSET


def spelled(key: str, value: Union[str, UnsetType], older: Union[str, UnsetType]) -> str:
    """The value to give to both; where they differ the newer spelling counts."""
    found = older if value is UNSET else value
    if found is UNSET:
        raise ValueError(f"`{key}` is required")
    return found
