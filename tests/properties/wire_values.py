"""Hypothesis strategies for wire types, made from their annotations."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from accord.schema import v1, v2
from accord.schema.wire_values import OPEN, REQUIRED, Known, Unknown

TEXT = st.text(max_size=8)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)

MESSAGE_TYPES = [
    expected
    for version in (v1, v2)
    for method in version.METHODS.values()
    for expected in (method.params, method.result)
    if expected is not None
]


def members(expected: Any, metadata: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The types that a union admits, each with what is said about it on the way."""
    if get_origin(expected) is Annotated:
        yield from members(expected.__origin__, metadata + expected.__metadata__)
    elif get_origin(expected) in {Union, types.UnionType}:
        for member in get_args(expected):
            yield from members(member, metadata)
    else:
        yield expected, metadata


def is_struct(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, msgspec.Struct)


def is_tagged(expected: Any) -> bool:
    return is_struct(expected) and expected.__struct_config__.tag_field is not None


def is_open(metadata: tuple[Any, ...]) -> bool:
    return OPEN in metadata


@functools.cache
def values(expected: Any) -> st.SearchStrategy[Any]:
    """Well-formed values of a type, without unknown variants."""
    return st.deferred(lambda: st.one_of(*(_member(member, metadata) for member, metadata in members(expected))))


def _member(expected: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    bounds = [entry for entry in metadata if isinstance(entry, Meta)]
    least = max((meta.min_length or 0 for meta in bounds), default=0)
    if is_struct(expected):
        return structs(expected)
    if get_origin(expected) is list:
        return st.lists(values(get_args(expected)[0]), min_size=least, max_size=least + 2)
    if get_origin(expected) is dict:
        return st.dictionaries(TEXT, values(get_args(expected)[1]), max_size=2)
    known = [value for entry in metadata if isinstance(entry, Known) for value in entry.values]
    if get_origin(expected) is Literal:  # of variants, only those that are listed are well-formed
        return st.sampled_from(known or get_args(expected))
    return {
        str: st.sampled_from(known) if known else st.text(min_size=least, max_size=least + 8),
        int: st.integers(
            max((int(meta.ge) for meta in bounds if meta.ge is not None), default=-(2**63)),
            min((int(meta.le) for meta in bounds if meta.le is not None), default=2**64),
        ),
        float: st.floats(
            max((meta.ge for meta in bounds if meta.ge is not None), default=None),
            min((meta.le for meta in bounds if meta.le is not None), default=None),
            allow_nan=False,
            allow_infinity=False,
        ),
        bool: st.booleans(),
        types.NoneType: st.none(),
        UnsetType: st.just(UNSET),
        Any: JSON,
    }[expected]


@functools.cache
def structs(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    fields = msgspec.structs.fields(struct)
    required = {field.name: values(field.type) for field in fields if field.required}
    optional = {field.name: values(field.type) for field in fields if not field.required}
    for field in fields:
        if any(REQUIRED in metadata for _, metadata in members(field.type)):  # strict mode wants it
            required[field.name] = optional.pop(field.name).filter(lambda value: value is not UNSET)
    return st.fixed_dictionaries(required, optional=optional).map(functools.partial(_made, struct)).filter(bool)


def _made(struct: type[msgspec.Struct], arguments: dict[str, Any]) -> msgspec.Struct | None:
    try:
        made = struct(**arguments)
    except ValueError:  # its own check: the members do not go together
        return None
    missing = getattr(struct, "missing", None)
    return None if missing is not None and missing(msgspec.json.decode(encoded(made))) else made


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=lambda unknown: unknown.__wire__())


def has_open_places(expected: Any) -> bool:
    """Whether an unknown variant could stand somewhere inside a value of the type, but not in its own place."""
    return any(
        has_open_places(inner) or any(is_open(metadata) and is_tagged(kind) for kind, metadata in members(inner))
        for member, _ in members(expected)
        for inner in (
            [field.type for field in msgspec.structs.fields(member)] if is_struct(member) else get_args(member)
        )
    )


Place = tuple[Any, Any]
"""An attribute or index of the object that holds an open union."""


def open_places(value: Any, expected: Any, holder: Any = None, key: Any = None) -> Iterator[Place]:
    """Every place inside a value where an unknown variant could stand."""
    for member, metadata in members(expected):
        if is_struct(member) and type(value) is member:
            if is_open(metadata) and holder is not None and is_tagged(member):
                yield holder, key
            for field in msgspec.structs.fields(member):
                yield from open_places(getattr(value, field.name), field.type, value, field.name)
        elif get_origin(member) is list and isinstance(value, list):
            for index, element in enumerate(value):
                yield from open_places(element, get_args(member)[0], value, index)
        elif get_origin(member) is dict and isinstance(value, dict):
            for name, element in value.items():
                yield from open_places(element, get_args(member)[1], value, name)


def put(place: Place, value: Any) -> None:
    holder, key = place
    if isinstance(holder, msgspec.Struct):
        setattr(holder, key, value)
    else:
        holder[key] = value


@functools.cache
def foreign(expected: Any) -> st.SearchStrategy[Any]:
    """Values of a type as peers of another age or maker send them: with variants and enum values that nobody listed."""
    return st.composite(_foreign)(expected)


def _foreign(draw: st.DrawFn, expected: Any) -> Any:
    value = copy.deepcopy(draw(values(expected)))
    holder = [value]
    for place in [*open_places(value, expected, holder, 0), *enum_places(value, expected)]:
        if not draw(st.integers(0, 3)):
            put(place, _other(draw, place))
    return holder[0]


def _other(draw: st.DrawFn, place: Place) -> Any:
    there = _at(place)
    name = draw(st.sampled_from(["_acme", "acme"]))
    if isinstance(there, str):
        return name
    needed = {
        "configId": "c",
        "id": "c",
        "methodId": "m",
        "planId": "p",
        "name": "n",
        "description": "d",
        "message": "m",
    }
    scope = {"sessionId": "s"} if there.__struct_config__.tag_field == "mode" else {}
    more = draw(st.dictionaries(st.just("extra"), JSON))
    return Unknown(name, {**needed, **scope, **more, there.__struct_config__.tag_field: name})


def _at(place: Place) -> Any:
    holder, key = place
    return getattr(holder, key) if isinstance(holder, msgspec.Struct) else holder[key]


def enum_places(value: Any, expected: Any, holder: Any = None, key: Any = None) -> Iterator[Place]:
    """Every place inside a value that holds one of the listed values of an enum."""
    for member, metadata in members(expected):
        if is_struct(member) and type(value) is member:
            for field in msgspec.structs.fields(member):
                yield from enum_places(getattr(value, field.name), field.type, value, field.name)
        elif get_origin(member) is list and isinstance(value, list):
            for index, element in enumerate(value):
                yield from enum_places(element, get_args(member)[0], value, index)
        elif isinstance(value, str) and holder is not None and any(isinstance(entry, Known) for entry in metadata):
            yield holder, key
            return
