"""Open unions that know one type so far.

msgspec asks for the tag only where it has two types to choose from: a union of one would take an object without a tag,
or any object at all where no member is required. `OpenOne` adds a second type that no message can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, Union

from accord.schema.values import OPEN, Unknown, Wire

__all__ = ["OpenOne", "Untagged"]

T = TypeVar("T")


class Untagged(Wire, tag_field="type", tag=""):
    """Nothing decodes to it and nothing can make one."""

    def __post_init__(self) -> None:
        raise ValueError("`type` is empty")


if TYPE_CHECKING:
    OpenOne: TypeAlias = Union[T, Unknown]
else:
    OpenOne = Annotated[Union[T, Untagged], OPEN]
