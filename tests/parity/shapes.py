"""What a value may be, in terms that a JSON schema and an annotation can both be put into."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from accord.schema.wire_values import (
    DEFAULT_ON_ERROR,
    DEFAULT_ON_NULL,
    SKIP_INVALID_ITEMS,
    Alias,
    DefaultTag,
    Known,
    Marker,
)

Bounds = tuple[float | None, float | None]
UNBOUNDED: Bounds = (None, None)

FORMATS: dict[str, Bounds] = {
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, None),  # msgspec's bounds are signed, so the upper one can't be said
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
MARKERS = {
    "x-deserialize-default-on-error": DEFAULT_ON_ERROR,
    "x-deserialize-skip-invalid-items": SKIP_INVALID_ITEMS,
    "x-deserialize-default-on-null": DEFAULT_ON_NULL,
}


@dataclass(frozen=True)
class Shape:
    """The kinds of JSON values that are taken, and what is said about each kind."""

    kinds: frozenset[str] = frozenset()
    nullable: bool = False
    values: frozenset[str] = frozenset()  # strings that are listed
    others: bool = False  # strings that are not
    bounds: Mapping[str, Bounds] = field(default_factory=dict)  # of the number, or of the length
    element: Shape | None = None
    member: Shape | None = None
    targets: frozenset[frozenset[str]] = frozenset()  # definitions, each with the names it goes by
    name: str = field(default="", compare=False)  # of the definition that was spelled out

    def takes_the_same_as(self, other: Shape) -> bool:
        """But for null, which is the field's business."""
        return replace(self, nullable=other.nullable) == other


ANYTHING = Shape(frozenset({"any"}), nullable=True)
NULL = Shape(nullable=True)


def join(shapes: Iterable[Shape]) -> Shape:
    """What one of them takes."""
    return functools.reduce(_join, shapes, Shape())


def _join(one: Shape, two: Shape) -> Shape:
    if ANYTHING in (one, two):
        return ANYTHING
    bounds = dict(one.bounds)
    for kind, (least, most) in two.bounds.items():
        if kind in one.kinds:
            low, high = one.bounds.get(kind, UNBOUNDED)
            least = None if low is None or least is None else min(low, least)
            most = None if high is None or most is None else max(high, most)
        bounds[kind] = (least, most)
    elements = [shape for shape in (one.element, two.element) if shape is not None]
    mapped = [shape for shape in (one.member, two.member) if shape is not None]
    return Shape(
        kinds=one.kinds | two.kinds,
        nullable=one.nullable or two.nullable,
        values=one.values | two.values,
        others=one.others or two.others,
        bounds={kind: pair for kind, pair in bounds.items() if pair != UNBOUNDED},
        element=join(elements) if elements else None,
        member=join(mapped) if mapped else None,
        targets=one.targets | two.targets,
        name=one.name if not two.kinds else two.name if not one.kinds else "",
    )


def meet(one: Shape, two: Shape) -> Shape:
    """What both take; good enough for a tag that is declared once as a string and once as a constant."""
    if one == ANYTHING:
        return two
    if two == ANYTHING:
        return one
    narrow = two if one.others else one
    return replace(
        narrow, kinds=one.kinds & two.kinds, nullable=one.nullable and two.nullable, others=one.others and two.others
    )


@dataclass(frozen=True)
class Property:
    """A member of an object."""

    shape: Shape
    required: bool
    markers: frozenset[Marker]
    alias: str | None = None


@dataclass(frozen=True)
class Branch:
    """One of the objects that a definition allows."""

    properties: Mapping[str, Property]
    parts: frozenset[str] = frozenset()  # the definitions it is put together from


class OfficialShapes:
    """Reads the definitions of a JSON schema."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions

    def resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        return self.definitions[_target(node)] if "$ref" in node else node

    def is_scalar(self, node: dict[str, Any]) -> bool:
        """Whether a definition only names strings, numbers and the like, so that it may as well be spelled out."""
        node = self.resolve(node)
        choices = node.get("anyOf", node.get("oneOf", node.get("allOf", [])))
        if any(not _says_anything(self.resolve(choice)) for choice in choices):
            return True
        if "properties" in node or not all(self.is_scalar(choice) for choice in choices):
            return False
        kinds = _kinds(node)
        return "object" not in kinds and ("array" not in kinds or self.is_scalar(node.get("items", {})))

    def shape(self, node: dict[str, Any]) -> Shape:
        if "$ref" in node:
            if self.is_scalar(node):
                return replace(self.shape(self.resolve(node)), name=_target(node))
            kind = "array" if self.arrays(node) else "object"
            return Shape(frozenset({kind}), targets=frozenset({frozenset({_target(node)})}))
        for choices in ("anyOf", "oneOf", "allOf"):
            if choices in node:
                return join(self.shape(choice) for choice in node[choices])
        if "const" in node and isinstance(node["const"], str):
            return Shape(frozenset({"string"}), values=frozenset({node["const"]}))
        kinds = _kinds(node)
        if not kinds:
            return ANYTHING
        return join(self._of_kind(kind, node) for kind in kinds)

    def _of_kind(self, kind: str, node: dict[str, Any]) -> Shape:
        shape = Shape(frozenset({kind}))
        if kind == "null":
            return NULL
        if kind in {"integer", "number"}:
            least, most = FORMATS.get(node.get("format", ""), UNBOUNDED)
            return _bounded(shape, kind, (node.get("minimum", least), node.get("maximum", most)))
        if kind == "string":
            return _bounded(replace(shape, others=True), kind, (node.get("minLength"), node.get("maxLength")))
        if kind == "array":
            element = self.shape(node.get("items", {}))
            return _bounded(replace(shape, element=element), kind, (node.get("minItems"), node.get("maxItems")))
        if kind == "object":
            told = node.get("additionalProperties")
            return replace(shape, member=self.shape(told) if isinstance(told, dict) else ANYTHING)
        return shape

    def arrays(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        """The arrays that a definition chooses from, if it is about arrays."""
        node = self.resolve(node)
        choices = [self.resolve(choice) for choice in node.get("anyOf", node.get("oneOf", []))] or [node]
        return choices if all(choice.get("type") == "array" for choice in choices) else []

    def branches(self, node: dict[str, Any]) -> list[Branch]:
        """Every combination of the alternatives inside an object."""
        parts = frozenset({_target(node)}) if "$ref" in node else frozenset[str]()
        node = self.resolve(node)
        required = node.get("required", [])
        found = [
            Branch(
                {
                    name: Property(
                        self.shape(told),
                        name in required,
                        frozenset(marker for key, marker in MARKERS.items() if told.get(key)),
                    )
                    for name, told in node.get("properties", {}).items()
                },
                parts,
            )
        ]
        groups = [self.branches(part) for part in node.get("allOf", [])]
        alternatives = [node[choices] for choices in ("anyOf", "oneOf") if choices in node]
        groups += [[branch for choice in choices for branch in self.branches(choice)] for choices in alternatives]
        for group in groups:
            found = [_combined(one, two) for one in found for two in group]
        return found


def _says_anything(node: dict[str, Any]) -> bool:
    return bool(node.keys() - {"title", "description"})


def _combined(one: Branch, two: Branch) -> Branch:
    properties = dict(one.properties)
    for name, told in two.properties.items():
        before = properties.get(name)
        properties[name] = (
            told
            if before is None
            else Property(
                meet(before.shape, told.shape), before.required or told.required, before.markers | told.markers
            )
        )
    return Branch(properties, one.parts | two.parts)


def merged(branches: list[Branch]) -> dict[str, Property]:
    """The members of one object that stands for several: required if each of them requires it."""
    names = {name: None for branch in branches for name in branch.properties}
    result: dict[str, Property] = {}
    for name in names:
        told = [branch.properties[name] for branch in branches if name in branch.properties]
        result[name] = Property(
            join(each.shape for each in told),
            len(told) == len(branches) and all(each.required for each in told),
            frozenset.intersection(*(each.markers for each in told)),
        )
    return result


class OurShapes:
    """Reads annotations, given the names that a version exports."""

    def __init__(self, exports: Mapping[str, Any]) -> None:
        self.exports = exports

    def names(self, expected: Any) -> frozenset[str]:
        """What a type that holds objects goes by: its own name, those of its parents, and of its aliases."""
        parents = [parent.__name__ for parent in expected.__mro__] if is_struct(expected) else []
        return frozenset(parents) | {name for name, exported in self.exports.items() if exported == expected}

    def is_scalar(self, expected: Any) -> bool:
        return not any(
            is_struct(member) or not all(self.is_scalar(inner) for inner in get_args(member))
            for member in members(expected)
            if get_origin(member) is not Literal
        )

    def shape(self, expected: Any) -> Shape:
        expected = without_markers(expected)
        origin = get_origin(expected)
        if not self.is_scalar(expected) and (is_struct(expected) or expected in self.exports.values()):
            kind = "array" if any(get_origin(member) is list for member in members(expected)) else "object"
            return Shape(frozenset({kind}), targets=frozenset({self.names(expected)}))
        if origin is Annotated:
            return self._annotated(self.shape(expected.__origin__), expected.__metadata__)
        if origin in {Union, types.UnionType}:
            return join(self.shape(member) for member in get_args(expected))
        if origin is list:
            return Shape(frozenset({"array"}), element=self.shape(get_args(expected)[0]))
        if origin is dict:
            return Shape(frozenset({"object"}), member=self.shape(get_args(expected)[1]))
        if origin is Literal:
            return Shape(frozenset({"string"}), values=frozenset(get_args(expected)))
        return {
            Any: ANYTHING,
            types.NoneType: NULL,
            UnsetType: Shape(),
            str: Shape(frozenset({"string"}), others=True),
            int: Shape(frozenset({"integer"})),
            float: Shape(frozenset({"number"})),
            bool: Shape(frozenset({"boolean"})),
        }[expected]

    def _annotated(self, shape: Shape, metadata: tuple[Any, ...]) -> Shape:
        for entry in metadata:
            if isinstance(entry, Known):
                shape = replace(shape, values=frozenset(entry.values), others=not entry.closed)
            elif isinstance(entry, Meta):
                (kind,) = shape.kinds
                sized = kind in {"string", "array"}
                pair = (entry.min_length, entry.max_length) if sized else (entry.ge, entry.le)
                shape = _bounded(shape, kind, pair)
        return shape

    def properties(self, struct: type[msgspec.Struct]) -> dict[str, Property]:
        result: dict[str, Property] = {}
        for told in msgspec.structs.fields(struct):
            about = list(metadata_of(told.type))
            alias = next((entry.key for entry in about if isinstance(entry, Alias)), None)
            markers = frozenset(entry for entry in about if entry in MARKERS.values())
            result[told.encode_name] = Property(self.shape(told.type), told.required, markers, alias)
        return result


def is_struct(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, msgspec.Struct)


def members(expected: Any) -> Iterator[Any]:
    """The types that a union admits."""
    if get_origin(expected) is Annotated:
        yield from members(expected.__origin__)
    elif get_origin(expected) in {Union, types.UnionType}:
        for member in get_args(expected):
            yield from members(member)
    else:
        yield expected


def metadata_of(expected: Any) -> Iterator[Any]:
    """All that is said about a type or the members of a union, but not about elements."""
    if get_origin(expected) is Annotated:
        yield from expected.__metadata__
        yield from metadata_of(expected.__origin__)
    elif get_origin(expected) in {Union, types.UnionType}:
        for member in get_args(expected):
            yield from metadata_of(member)


def without_markers(expected: Any) -> Any:
    """A type without what a field says about it, as it would be exported."""
    if get_origin(expected) is not Annotated:
        return expected
    kept = tuple(
        entry for entry in expected.__metadata__ if not (entry in MARKERS.values() or isinstance(entry, Alias))
    )
    return Annotated[(expected.__origin__, *kept)] if kept else expected.__origin__


def default_tag(expected: Any) -> str | None:
    return next((entry.tag for entry in metadata_of(expected) if isinstance(entry, DefaultTag)), None)


def variants(expected: Any) -> dict[str, type[msgspec.Struct]]:
    """The structs of a tagged union by their tags; the empty tag only makes msgspec ask for one."""
    found = {member.__struct_config__.tag: member for member in members(expected) if is_struct(member)}
    return {tag: struct for tag, struct in found.items() if tag}


def _target(node: dict[str, Any]) -> str:
    return node["$ref"].removeprefix("#/$defs/")


def _kinds(node: dict[str, Any]) -> list[str]:
    told = node.get("type", [])
    return [told] if isinstance(told, str) else told


def _bounded(shape: Shape, kind: str, pair: Bounds) -> Shape:
    return shape if pair == UNBOUNDED else replace(shape, bounds={**shape.bounds, kind: pair})
