"""One value under two keys: that of v1 and that of v2.

Whichever key was received, both members have the value afterwards and both keys are written, so that a peer of either
version finds the one it knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Union

from accord.schema.wire_values import DEFAULT_ON_ERROR, UNSET, UnsetType

T = TypeVar("T")

if TYPE_CHECKING:
    Spelled: TypeAlias = T
else:
    # One of the two is needed, so neither is required by itself.
    Spelled = Annotated[Union[T, UnsetType], DEFAULT_ON_ERROR]

EITHER: Any = UNSET


def spelled(key: str, value: Union[str, UnsetType], older: Union[str, UnsetType]) -> str:
    """The value for both members; if they differ, that of v2's key."""
    found = older if value is UNSET else value
    if found is UNSET:
        raise ValueError(f"`{key}` is required")
    return found
