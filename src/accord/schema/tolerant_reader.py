"""Tolerant and strict reading of a parsed JSON value, by the markers of its type.

Each type is compiled once into closures `walk(value, path, notes)`. Law: a walk returns a value of its type or raises
`Malformed`, and only the field that contains a malformed value may tolerate it, with an entry in `notes`.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, UnsetType
from msgspec.structs import FieldInfo

from accord.errors import Malformed
from accord.schema.malformed_values import KIND_NAMES, Notes, Path, note, note_error, reject, reject_kind, reject_value
from accord.schema.wire_values import (
    CLOSED,
    DEFAULT_ON_ERROR,
    DEFAULT_ON_NULL,
    NUMBER_IS_TEXT,
    OPEN,
    REQUIRED,
    SKIP_INVALID_ITEMS,
    Alias,
    DefaultTag,
    Known,
    Maximum,
    MergedVariants,
    Unknown,
    UnknownVariant,
    Variants,
    Wire,
)

Walk: TypeAlias = Callable[[Any, Path, Notes], Any]
Metadata: TypeAlias = tuple[Any, ...]
Kind = TypeVar("Kind")

_MISSING = object()


def walk_for(expected: Any, *, strict: bool, tries_fast: bool = False) -> Walk:
    """The walk of a type. In strict mode nothing malformed or unknown is tolerated.

    With `tries_fast`, msgspec tries each object first: right for the items of an array, most of which are valid.
    """
    found = list(_members(expected, ()))
    if any(member is Any for member, _ in found):
        return _unchanged
    nullable = any(member is types.NoneType for member, _ in found)
    found = [(member, metadata) for member, metadata in found if member not in {types.NoneType, UnsetType}]
    by_kind: dict[type, Walk] = {}
    scalars: list[tuple[Any, Metadata]] = []
    structs = [(member, metadata) for member, metadata in found if _is_struct(member)]
    if structs:
        by_kind[dict] = _object([member for member, _ in structs], structs[0][1], strict, tries_fast)
    for member, metadata in found:
        kind = get_origin(member) or member
        if kind is list:
            by_kind[list] = _array(member, metadata, strict)
        elif kind is dict:
            by_kind[dict] = _map(member, metadata, strict)
        elif not _is_struct(member):
            scalars.append((member, metadata))
    otherwise = _scalar(scalars, strict) if scalars else _kind_rejection(by_kind)
    if not nullable and len(by_kind) + bool(scalars) == 1:
        return next(iter(by_kind.values()), otherwise)
    if nullable:
        by_kind[types.NoneType] = _unchanged

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        return by_kind.get(value.__class__, otherwise)(value, path, notes)

    return walk


def _members(expected: Any, metadata: Metadata) -> Iterator[tuple[Any, Metadata]]:
    """The members of a union, each with its own metadata and that of the unions around it."""
    origin = get_origin(expected)
    if origin is Annotated:
        yield from _members(expected.__origin__, metadata + expected.__metadata__)
    elif origin is Union or origin is types.UnionType:
        for member in get_args(expected):
            yield from _members(member, metadata)
    else:
        yield expected, metadata


def _is_struct(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, msgspec.Struct)


def _first(metadata: Iterable[Any], kind: type[Kind]) -> Kind | None:
    return next((entry for entry in metadata if isinstance(entry, kind)), None)


def _unchanged(value: Any, path: Path, notes: Notes) -> Any:
    return value


def _kind_rejection(kinds: Iterable[type]) -> Walk:
    expected = " | ".join(KIND_NAMES[kind] for kind in kinds)
    return lambda value, path, notes: reject_kind(value, path, expected)


def _scalar(scalars: list[tuple[Any, Metadata]], strict: bool) -> Walk:
    members = tuple(_bounded(member, metadata) for member, metadata in scalars)
    expected: Any = Union[members]
    plain = _plain(scalars, strict)
    literals = [str(value) for member in members if get_origin(member) is Literal for value in get_args(member)]
    entries = [entry for _, metadata in scalars for entry in metadata]
    maximum = _first(entries, Maximum)
    known = _first(entries, Known) if strict else None
    kinds = [member for member, _ in scalars]
    is_integer = int in kinds and float not in kinds

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) in plain:
            return value
        if is_integer and type(value) is float and value.is_integer():
            value = int(value)  # to JSON, 1.0 is an integer
        try:
            value = msgspec.convert(value, expected, strict=True)
        except msgspec.ValidationError as error:
            _reject_scalar(path, error, literals)
        except OverflowError:
            reject(path, "number out of range")
        if maximum is not None and isinstance(value, int) and value > maximum.value:
            reject(path, f"expected `int` <= {maximum.value}")
        if known is not None and isinstance(value, str) and not known.accepts(value):
            reject_value(path, known.values, own=not known.closed)
        return value

    return walk


def _bounded(member: Any, metadata: Metadata) -> Any:
    if _first(metadata, Variants) is not None:
        return str
    bounds = tuple(entry for entry in metadata if isinstance(entry, Meta))
    return Annotated[(member, *bounds)] if bounds else member


def _plain(scalars: Iterable[tuple[Any, Metadata]], strict: bool) -> frozenset[type]:
    """The types of which every instance is valid, so that most values need no call."""
    constraints = (Meta, Known) if strict else (Meta,)
    return frozenset(
        member
        for member, metadata in scalars
        if member in {str, bool, int} and not any(isinstance(entry, constraints) for entry in metadata)
    )


def _reject_scalar(path: Path, error: msgspec.ValidationError, literals: list[str]) -> NoReturn:
    message = str(error).partition(" - at `")[0]
    if message.startswith(("Expected", "Integer", "Number")):
        reject(path, message[0].lower() + message[1:])
    reject_value(path, literals, own=False)  # msgspec would quote the value (FN-41)


def _array(expected: Any, metadata: Metadata, strict: bool) -> Walk:
    item = (get_args(expected) or (Any,))[0]
    read = walk_for(item, strict=strict, tries_fast=not strict)
    skip = SKIP_INVALID_ITEMS in metadata and not strict
    check = _length_check(metadata)

    def walk(value: Any, path: Path, notes: Notes) -> list[Any]:
        elements: list[Any] = value
        if type(value) is not list:
            reject_kind(value, path, "array")
        items: list[Any] = []
        for index, element in enumerate(elements):
            place = (path, index)
            try:
                items.append(read(element, place, notes))
            except Malformed as error:
                if not skip:
                    raise
                note_error(notes, place, "dropped", error)
        check(items, path)
        return items

    return walk


def _map(expected: Any, metadata: Metadata, strict: bool) -> Walk:
    member = (get_args(expected) or (str, Any))[1]
    read = walk_for(member, strict=strict)
    check = _length_check(metadata)

    def walk(value: Any, path: Path, notes: Notes) -> dict[str, Any]:
        members: dict[str, Any] = value
        if type(value) is not dict:
            reject_kind(value, path, "object")
        check(members, path)
        if read is _unchanged:
            return members
        return {key: read(element, (path, key), notes) for key, element in members.items()}

    return walk


def _length_check(metadata: Metadata) -> Callable[[list[Any] | dict[str, Any], Path], None]:
    metas = [entry for entry in metadata if isinstance(entry, Meta)]
    least = max((meta.min_length or 0 for meta in metas), default=0)
    most = min((meta.max_length for meta in metas if meta.max_length is not None), default=None)

    def check(items: list[Any] | dict[str, Any], path: Path) -> None:
        if len(items) < least:
            reject(path, f"expected a length >= {least}")
        if most is not None and len(items) > most:
            reject(path, f"expected a length <= {most}")

    return check


def _object(structs: list[type[msgspec.Struct]], metadata: Metadata, strict: bool, tries_fast: bool) -> Walk:
    is_open, is_closed = OPEN in metadata, CLOSED in metadata
    unknown_variant = _first(metadata, UnknownVariant)
    check_other = _struct(Wire if unknown_variant is None else unknown_variant.struct, strict, is_part=True)
    walks = [_fast_first(struct) if tries_fast else _struct(struct, strict) for struct in structs]
    tagged = {struct.__struct_config__.tag: walk for struct, walk in zip(structs, walks, strict=True)}
    tag_field = structs[0].__struct_config__.tag_field
    if tag_field is None:
        return _untagged(walks[0]) if is_open else walks[0]
    default_tag = _first(metadata, DefaultTag)
    assumed = default_tag.tag if default_tag is not None else None
    # msgspec accepts a missing tag if the type is a single struct and not a union
    if assumed is None and len(structs) == 1 and not is_open:
        assumed = structs[0].__struct_config__.tag

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        if type(value) is not dict:
            reject_kind(value, path, "object")
        tag = members.get(tag_field, _MISSING)
        if tag is _MISSING:
            if assumed is None or strict:
                reject((path, tag_field), "required")
            tag = assumed
            if default_tag is not None:
                note(notes, (path, tag_field), f"missing, read as {assumed}")
        if type(tag) is not str:
            reject_kind(tag, (path, tag_field), "str")
        variant = tagged.get(tag)
        if variant is not None:
            return variant(members, path, notes)
        if not is_open or (strict and (is_closed or not tag.startswith("_"))):
            reject_value((path, tag_field), map(str, tagged), own=is_open and not is_closed)
        if strict:
            check_other(members, path, notes)
        return Unknown(tag, members)

    return walk


def _untagged(read: Walk) -> Walk:
    """The walk of a `MergedVariants` that takes the place of an open union."""

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        result: MergedVariants = read(value, path, notes)
        return result if result.raw is None else Unknown(result.variant, result.raw)

    return walk


def _fast_first(struct: type[msgspec.Struct]) -> Walk:
    careful = _struct(struct, False)

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        try:
            return msgspec.convert(value, struct)
        except (msgspec.ValidationError, OverflowError):
            return careful(value, path, notes)

    return walk


class _Field(msgspec.Struct, frozen=True):
    name: str
    plain: frozenset[type]
    read: Walk
    key: str
    alias: str | None
    required: bool
    read_exactly: Walk
    """As `read`, but tolerates nothing."""


@functools.cache
def _struct(struct: type[msgspec.Struct], strict: bool, is_part: bool = False) -> Walk:
    """The walk of a struct; with `is_part` it ignores members that the struct does not have."""
    fields: dict[str, _Field] = {}
    checked: list[_Field] = []
    tag_field = struct.__struct_config__.tag_field
    missing: Callable[[dict[str, Any]], str | None] | None = getattr(struct, "missing", None) if strict else None

    def prepare() -> None:  # late, because a type may contain itself
        found = list(_fields(struct, strict))
        checked[:] = [field for field in found if field.required or field.alias is not None]
        fields.update((field.key, field) for field in found)

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        if type(value) is not dict:
            reject_kind(value, path, "object")
        if not fields:
            prepare()
        arguments: dict[str, Any] = {}
        for key, found in members.items():
            field = fields.get(key)
            if field is not None:
                arguments[field.name] = found if type(found) in field.plain else field.read(found, (path, key), notes)
            elif strict and key != tag_field and not is_part:
                reject((path, key), "unknown member")
        for field in checked:
            if field.key not in members:
                _read_alias(field, members, arguments, path, notes)
        if missing is not None and (key := missing(members)) is not None:
            reject((path, key), "required")
        try:
            return struct(**arguments)
        except (ValueError, TypeError) as error:  # from the struct's own check of its members together
            _reject_together(fields, members, path, str(error))

    return _merged_variants(walk, struct, strict) if issubclass(struct, MergedVariants) else walk


def _merged_variants(read: Walk, struct: type[MergedVariants], strict: bool) -> Walk:
    """The walk of a `MergedVariants`, which keeps the whole object if its variant is unknown."""
    variant_fields = list(_variant_fields(struct))

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        other = _unknown_variant(variant_fields, members) if type(value) is dict else None
        if other is None:
            return read(value, path, notes)
        key, variants = other
        if strict:
            if not variants.accepts(members[key]):
                reject_value((path, key), variants.values, own=not variants.closed)
            _struct(variants.unknown or Wire, True, is_part=True)(members, path, notes)
            return _struct(struct, False)(members, path, notes)
        result: MergedVariants = read(members, path, notes)
        vars(result).update(raw=members, variant=members[key])
        return result

    return walk


def _variant_fields(struct: type[MergedVariants]) -> Iterator[tuple[str, Variants]]:
    """The members that select the variant."""
    for field in msgspec.structs.fields(struct):
        about = [entry for _, metadata in _members(field.type, ()) for entry in metadata]
        variants = _first(about, Variants)
        if variants is not None:
            yield field.encode_name, variants


def _unknown_variant(
    variant_fields: Iterable[tuple[str, Variants]], members: dict[str, Any]
) -> tuple[str, Variants] | None:
    """The member that selects an unknown variant, if there is one."""
    for key, variants in variant_fields:
        value = members.get(key)
        if isinstance(value, str) and value not in variants.understood:
            return key, variants
    return None


def _reject_together(fields: dict[str, _Field], members: dict[str, Any], path: Path, reason: str) -> NoReturn:
    """A member that the struct's check reports as missing may be present but malformed: then report that."""
    for key, field in fields.items():
        if key in members and f"`{key}`" in reason:
            field.read_exactly(members[key], (path, key), None)
    reject(path, reason)


def _fields(struct: type[msgspec.Struct], strict: bool) -> Iterator[_Field]:
    for field in msgspec.structs.fields(struct):
        members = list(_members(field.type, ()))
        metadata = [entry for _, about in members for entry in about]
        marker = _first(metadata, Alias)
        alias = marker.key if marker is not None and not strict else None
        read_exactly = walk_for(field.type, strict=strict)
        yield _Field(
            name=field.name,
            plain=_plain(members, strict),
            read=read_exactly if strict else _with_fallback(read_exactly, field, metadata),
            key=field.encode_name,
            alias=alias,
            required=field.required or (strict and REQUIRED in metadata),
            read_exactly=read_exactly,
        )


def _read_alias(field: _Field, members: dict[str, Any], arguments: dict[str, Any], path: Path, notes: Notes) -> None:
    if field.alias is not None and field.alias in members:
        arguments[field.name] = field.read(members[field.alias], (path, field.alias), notes)
        note(notes, (path, field.alias), f"read as {field.key}")
    elif field.required:
        reject((path, field.key), "required")


def _with_fallback(read: Walk, field: FieldInfo, metadata: list[Any]) -> Walk:
    """The walk of a field's value, with the tolerance of the field."""
    is_array = any(get_origin(member) is list for member, _ in _members(field.type, ()))
    empty: Callable[[], Any] = list[Any] if is_array else dict[str, Any]
    fallback = _fallback(field, is_array) if DEFAULT_ON_ERROR in metadata else None
    on_null, on_number = DEFAULT_ON_NULL in metadata, NUMBER_IS_TEXT in metadata
    if fallback is None and not on_null:
        return read

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        if value is None and on_null:
            note(notes, path, "null, read as empty")
            return empty()
        if on_number and type(value) is int:
            note(notes, path, "number, read as text")
            return str(value)
        try:
            return read(value, path, notes)
        except Malformed as error:
            if fallback is None:
                raise
            note_error(notes, path, "ignored", error)
            return fallback()

    return walk


def _fallback(field: FieldInfo, is_array: bool) -> Callable[[], Any] | None:
    if field.default is not NODEFAULT:
        return functools.partial(_unchanged, field.default, None, None)
    if field.default_factory is not NODEFAULT:
        return field.default_factory
    return list[Any] if is_array else None
