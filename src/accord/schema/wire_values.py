"""The vocabulary of wire types: base structs, field types with three states, and markers for tolerance.

A wire type is a msgspec struct whose annotations have markers. msgspec ignores the markers and decodes well-formed
input at full speed; `tolerant_reader` uses them only when that has failed. So the markers alone decide what happens to
malformed and unknown input:

- an unknown tag of a union is kept as `Unknown`, an unknown value of an enum is kept as its string;
- a malformed value is an error, unless the field that contains it says otherwise.

Optional fields default to `UNSET`, never to the protocol's default, so that a message is written back as it was read.
"""

# Without `from __future__ import annotations`: all wire types inherit `meta`, and msgspec compiles an annotation that is a
# string once for each of them.
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType


class Unknown:
    """A variant that accord has no type for; it is written back exactly as it was read."""

    __slots__ = ("raw", "tag")
    __match_args__ = ("tag", "raw")

    def __init__(self, tag: str, raw: dict[str, Any]) -> None:
        self.tag = tag
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (self.tag, self.raw) == (other.tag, other.raw)

    __hash__ = None  # type: ignore[assignment]  # it contains a dict

    def __repr__(self) -> str:
        return f"Unknown({self.tag!r}, {self.raw!r})"

    def __wire__(self) -> dict[str, Any]:
        return self.raw


class Marker:
    """An annotation for `tolerant_reader`, ignored by msgspec."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DEFAULT_ON_ERROR = Marker("DEFAULT_ON_ERROR")
"""A malformed value is read as missing; for a required array, as the empty array."""

SKIP_INVALID_ITEMS = Marker("SKIP_INVALID_ITEMS")
"""Malformed items of the array are dropped, the others stay."""

DEFAULT_ON_NULL = Marker("DEFAULT_ON_NULL")
"""`null` is read as the empty array or map; a required key must still be present."""

NUMBER_IS_TEXT = Marker("NUMBER_IS_TEXT")
"""An integer is read as the text of its digits."""

REQUIRED = Marker("REQUIRED")
"""Has a default, but strict mode requires it."""

OPEN = Marker("OPEN")
"""The union accepts unknown tags; in strict mode only an implementer's `_tag`."""

CLOSED = Marker("CLOSED")
"""The protocol closes the union: strict mode accepts no unknown tag."""


class Known(Marker):
    """The known values of a string enum. Other values are kept, and are an error only in strict mode.

    There, a `closed` enum accepts nothing else, a `free` one any string, the others an implementer's `_value`: names
    without the underscore belong to the protocol.
    """

    __slots__ = ("closed", "free", "values")

    def __init__(self, *values: str, closed: bool = False, free: bool = False) -> None:
        super().__init__("Known")
        self.values = values
        self.closed = closed
        self.free = free

    def accepts(self, value: str) -> bool:
        """Whether strict mode accepts the value."""
        return self.free or value in self.values or (value.startswith("_") and not self.closed)


class Variants(Known):
    """The known values of the member that selects the variant of a `MergedVariants`.

    An object with another value is kept: as `Unknown` where the type is an open union, otherwise in `raw`. `unknown`
    has the members that such an object must have, if any; strict mode checks only those.
    """

    __slots__ = ("understood", "unknown")

    def __init__(
        self,
        *values: str,
        closed: bool = False,
        unknown: type[msgspec.Struct] | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        super().__init__(*values, closed=closed)
        self.unknown = unknown
        self.understood = (*values, *also)
        """Includes values that strict mode does not accept."""


class UnknownVariant(Marker):
    """The members that an unknown variant of an open union must have; checked in strict mode only."""

    __slots__ = ("struct",)

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        super().__init__("UnknownVariant")
        self.struct = struct


class Maximum(Marker):
    """The largest integer allowed, where msgspec has no such bound."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        super().__init__("Maximum")
        self.value = value


class Alias(Marker):
    """An older spelling of a key, read if the current one is missing; never written."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        super().__init__("Alias")
        self.key = key


class DefaultTag(Marker):
    """The tag that an object without one is read with; outside strict mode only."""

    __slots__ = ("tag",)

    def __init__(self, tag: str) -> None:
        super().__init__("DefaultTag")
        self.tag = tag


T = TypeVar("T")

if TYPE_CHECKING:
    Nullable: TypeAlias = Union[T, None, UnsetType]
    """Optional, may be null; a malformed value is an error."""

    Lenient: TypeAlias = Annotated[Union[T, None, UnsetType], DEFAULT_ON_ERROR]
    """Optional, may be null; a malformed value is read as missing."""

    LenientText: TypeAlias = Annotated[Union[str, None, UnsetType], DEFAULT_ON_ERROR, NUMBER_IS_TEXT]
    """Optional text, may be null; a number is read as its digits, other malformed values as missing."""

    Defaulted: TypeAlias = Annotated[Union[T, UnsetType], DEFAULT_ON_ERROR]
    """Optional; null and malformed values are read as missing."""

    LenientItems: TypeAlias = Annotated[Union[list[T], None, UnsetType], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
    """Optional array, may be null; malformed items are dropped, a non-array is read as missing."""

    DefaultedItems: TypeAlias = Annotated[Union[list[T], UnsetType], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
    """Optional array; malformed items are dropped, null and non-arrays are read as missing."""

    Items: TypeAlias = Annotated[list[T], DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS]
    """Required array; malformed items are dropped, a non-array is read as empty."""

    ValidItems: TypeAlias = Annotated[list[T], SKIP_INVALID_ITEMS]
    """Required array; malformed items are dropped, a non-array is an error."""

    NullIsEmpty: TypeAlias = Annotated[Union[T, UnsetType], DEFAULT_ON_NULL]
    """Optional array or map; null is read as empty, other malformed values are errors."""
else:

    class _Field:
        """As the alias above: the substitutions of `typing` take ten times as long, and an agent's start has many."""

        __slots__ = ("_markers", "_others")

        def __init__(self, others: Any, *markers: Marker) -> None:
            self._others = others
            self._markers = markers

        def __getitem__(self, kind: Any) -> Any:
            kind = kind if self._others is None else kind | self._others
            return Annotated[(kind, *self._markers)] if self._markers else kind

    class _ItemsField(_Field):
        __slots__ = ()

        def __getitem__(self, kind: Any) -> Any:
            return super().__getitem__(list[kind])

    _OR_NULL = None | UnsetType
    Nullable = _Field(_OR_NULL)
    Lenient = _Field(_OR_NULL, DEFAULT_ON_ERROR)
    LenientText = Annotated[str | _OR_NULL, DEFAULT_ON_ERROR, NUMBER_IS_TEXT]
    Defaulted = _Field(UnsetType, DEFAULT_ON_ERROR)
    LenientItems = _ItemsField(_OR_NULL, DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS)
    DefaultedItems = _ItemsField(UnsetType, DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS)
    Items = _ItemsField(None, DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS)
    ValidItems = _ItemsField(None, SKIP_INVALID_ITEMS)
    NullIsEmpty = _Field(UnsetType, DEFAULT_ON_NULL)

if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]
    Closed: TypeAlias = Union[T, Unknown]
else:
    # msgspec cannot have Unknown in a union: its decoder rejects an unknown tag, then `tolerant_reader` makes the Unknown.
    Open = Annotated[T, OPEN]
    Closed = Annotated[T, OPEN, CLOSED]


def variants(enum: Any, unknown: type[msgspec.Struct] | None = None, also: tuple[str, ...] = ()) -> Any:
    """The type of a member whose enum value selects the variant: see `Variants`.

    It is a literal, so that msgspec leaves other values to `tolerant_reader`. `also` is accepted outside strict mode.
    """
    (known,) = enum.__metadata__
    marker = Variants(*known.values, closed=known.closed, unknown=unknown, also=also)
    return Annotated[Literal[marker.understood], marker]


UInt16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
UInt32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
# msgspec's bounds are 64-bit signed: `tolerant_reader` and the struct with such a number check the upper one.
UInt64: TypeAlias = Annotated[int, Meta(ge=0), Maximum(2**64 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


def check_uint64(*values: object) -> None:
    """For the `__post_init__` of a struct: reject numbers beyond 64 bits."""
    for value in values:
        if isinstance(value, int) and value >= 2**64:
            raise ValueError("number out of range")


class Wire(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """An object of the protocol; members have the protocol's names, in snake case."""

    meta: Lenient[dict[str, Any]] = msgspec.field(default=UNSET, name="_meta")


class MergedVariants(Wire, dict=True, gc=True):
    """An object that merges several variants, selected by a member and not by a tag; see `Variants`."""

    @property
    def raw(self) -> dict[str, Any] | None:
        """The object as received, if its variant is unknown; `variant` is its name."""
        return self.__dict__.get("raw")

    @property
    def variant(self) -> str:
        """The name of the unknown variant."""
        return self.__dict__["variant"]


class Untagged(Wire, tag_field="type", tag=""):
    """A type that nothing decodes to and that cannot be created; see `OpenOne`."""

    def __post_init__(self) -> None:
        raise ValueError("`type` is empty")


if TYPE_CHECKING:
    OpenOne: TypeAlias = Union[T, Unknown]
    """An open union that has one variant so far."""
else:
    # msgspec asks for the tag only where it has two types to choose from: a union of one would accept an object without
    # a tag, or any object at all where no member is required. So there is a second type, which no message can be.
    OpenOne = Annotated[Union[T, Untagged], OPEN]
