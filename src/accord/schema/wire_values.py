"""How a wire type is written down: struct options, the three states of a field, what is open, what is forgiven.

A wire type is a msgspec struct whose annotations carry markers. msgspec ignores the markers and decodes well-formed
input at full speed; `reading` looks at them only when that failed. So the markers are the single place that says
what happens to input that is not as it should be:

- an unknown tag of a union is kept as `Unknown`, an unknown value of an enum is kept as the string it is;
- a malformed value is an error, unless the field that holds it says otherwise.

Optional fields default to `UNSET`, never to the protocol's default, so that what was received is written back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = [
    "CLOSED",
    "DEFAULT_ON_ERROR",
    "DEFAULT_ON_NULL",
    "NUMBER_IS_TEXT",
    "OPEN",
    "REQUIRED",
    "SKIP_INVALID_ITEMS",
    "UNSET",
    "Alias",
    "Closed",
    "DefaultTag",
    "Defaulted",
    "DefaultedItems",
    "Int64",
    "Items",
    "Known",
    "Lenient",
    "LenientItems",
    "LenientText",
    "Marker",
    "Most",
    "NullIsEmpty",
    "Nullable",
    "Open",
    "Others",
    "UInt16",
    "UInt32",
    "UInt64",
    "Unknown",
    "UnsetType",
    "ValidItems",
    "Variants",
    "Whole",
    "Wire",
    "check_uint64",
    "variants",
]


class Unknown:
    """A variant this version of accord has no type for, kept whole: it is written back exactly as it was read."""

    __slots__ = ("raw", "tag")
    __match_args__ = ("tag", "raw")

    def __init__(self, tag: str, raw: dict[str, Any]) -> None:
        self.tag = tag
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (self.tag, self.raw) == (other.tag, other.raw)

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __repr__(self) -> str:
        return f"Unknown({self.tag!r}, {self.raw!r})"

    def __wire__(self) -> dict[str, Any]:
        return self.raw


class Marker:
    """What an annotation says beyond the type; found by `reading`, ignored by msgspec."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DEFAULT_ON_ERROR = Marker("DEFAULT_ON_ERROR")
"""A malformed value counts as absent; of a required array, as the empty array."""

SKIP_INVALID_ITEMS = Marker("SKIP_INVALID_ITEMS")
"""Elements that do not parse leave the array, the others stay."""

DEFAULT_ON_NULL = Marker("DEFAULT_ON_NULL")
"""`null` counts as the empty array or map; a required key must still be there."""

NUMBER_IS_TEXT = Marker("NUMBER_IS_TEXT")
"""A whole number counts as the text of its digits."""

REQUIRED = Marker("REQUIRED")
"""Has a default for those who leave it out; in strict mode it must be there."""

OPEN = Marker("OPEN")
"""The union admits tags that are not listed; in strict mode only an implementer's `_tag`."""

CLOSED = Marker("CLOSED")
"""The protocol closes the union: in strict mode it takes no tag that is not listed."""


class Known(Marker):
    """The listed values of a string enum. Others are kept as they are, and are an error only in strict mode.

    `closed` enums take nothing else in strict mode, `free` ones any string; the others still take an implementer's
    `_value`: names without the underscore are the protocol's to give.
    """

    __slots__ = ("closed", "free", "values")

    def __init__(self, *values: str, closed: bool = False, free: bool = False) -> None:
        super().__init__("Known")
        self.values = values
        self.closed = closed
        self.free = free

    def takes(self, value: str) -> bool:
        """Whether strict mode takes it."""
        return self.free or value in self.values or (value.startswith("_") and not self.closed)


class Variants(Known):
    """The listed values of a member that tells the variants of one struct apart, which is a `Whole`.

    An object with another value is kept whole: as `Unknown` in the place of an open union, otherwise beside what is
    understood of it. `others` has the members that such an object must have, if any; strict mode checks no more.
    """

    __slots__ = ("others", "understood")

    def __init__(
        self,
        *values: str,
        closed: bool = False,
        others: type[msgspec.Struct] | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        super().__init__(*values, closed=closed)
        self.others = others
        self.understood = (*values, *also)
        """Also values that strict mode does not take."""


class Others(Marker):
    """The members that a variant of an open union must have when its tag is not listed; checked in strict mode only."""

    __slots__ = ("struct",)

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        super().__init__("Others")
        self.struct = struct


class Most(Marker):
    """The largest integer that is allowed, where msgspec can't say it."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        super().__init__("Most")
        self.value = value


class Alias(Marker):
    """An older spelling of a key, read when the right one is missing; never written."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        super().__init__("Alias")
        self.key = key


class DefaultTag(Marker):
    """The tag that a tagged object without one is taken to have; outside strict mode only."""

    __slots__ = ("tag",)

    def __init__(self, tag: str) -> None:
        super().__init__("DefaultTag")
        self.tag = tag


T = TypeVar("T")

Nullable: TypeAlias = Union[T, None, UnsetType]
"""Optional, may be null, strict: a malformed value is an error."""

Lenient: TypeAlias = Annotated[Union[T, None, UnsetType], DEFAULT_ON_ERROR]
"""Optional, may be null; a malformed value counts as absent."""

LenientText: TypeAlias = Annotated[Union[str, None, UnsetType], DEFAULT_ON_ERROR, NUMBER_IS_TEXT]
"""Optional text, may be null; a number counts as its digits, anything else malformed as absent."""

Defaulted: TypeAlias = Annotated[Union[T, UnsetType], DEFAULT_ON_ERROR]
"""Optional; null and malformed values count as absent."""

LenientItems: TypeAlias = Annotated[Union[list[T], None, UnsetType], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
"""Optional array, may be null; bad elements leave it, a non-array counts as absent."""

DefaultedItems: TypeAlias = Annotated[Union[list[T], UnsetType], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
"""Optional array; bad elements leave it, null and non-arrays count as absent."""

Items: TypeAlias = Annotated[list[T], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
"""Required array; bad elements leave it, a non-array counts as empty."""

ValidItems: TypeAlias = Annotated[list[T], SKIP_INVALID_ITEMS]
"""Required array; bad elements leave it, a non-array is an error."""

NullIsEmpty: TypeAlias = Annotated[Union[T, UnsetType], DEFAULT_ON_NULL]
"""Optional array or map; null counts as empty, anything else malformed is an error."""

if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]
    Closed: TypeAlias = Union[T, Unknown]
else:
    # msgspec cannot have Unknown in a union: the fast decoder refuses an unknown tag, `reading` then makes the Unknown.
    Open = Annotated[T, OPEN]
    Closed = Annotated[T, OPEN, CLOSED]


def variants(enum: Any, others: type[msgspec.Struct] | None = None, also: tuple[str, ...] = ()) -> Any:
    """The type of a member that has the values of an enum, and tells variants apart by them: see `Variants`.

    It is a literal, so that the fast decoder leaves other values to `reading`. `also` are understood outside strict mode.
    """
    (known,) = enum.__metadata__
    marker = Variants(*known.values, closed=known.closed, others=others, also=also)
    return Annotated[Literal[marker.understood], marker]


UInt16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
UInt32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
# msgspec's bounds are 64-bit signed: the upper one is for the walk, and for the struct that holds such a number.
UInt64: TypeAlias = Annotated[int, Meta(ge=0), Most(2**64 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


def check_uint64(*values: object) -> None:
    """For the `__post_init__` of a struct: refuse what is beyond 64 bits."""
    for value in values:
        if isinstance(value, int) and value >= 2**64:
            raise ValueError("number out of range")


class Wire(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """An object of the protocol. Members are spelled as the protocol spells them, in snake case."""

    meta: Lenient[dict[str, Any]] = msgspec.field(default=UNSET, name="_meta")


class Whole(Wire, dict=True, gc=True):
    """An object whose variants are told apart by a member and not by a tag; see `Variants`."""

    @property
    def raw(self) -> dict[str, Any] | None:
        """All of it as it came, when it is of a variant that is not listed; `variant` is that variant."""
        return self.__dict__.get("raw")

    @property
    def variant(self) -> str:
        """The name of a variant that is not listed."""
        return self.__dict__["variant"]
