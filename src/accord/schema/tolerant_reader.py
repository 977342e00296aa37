"""The tolerant reading of a parsed JSON value, marker by marker.

A type is compiled once into closures `walk(value, path, notes)`. The law: a walk returns a value of its type or raises
`Malformed`, and only the field that holds a malformed value may forgive it. What was forgiven is told in `notes`.
Errors and notes are put into words by `refusals`.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, UnsetType
from msgspec.structs import FieldInfo

from accord.errors import Malformed
from accord.schema.refusals import KIND_NAMES, Notes, Path, note_forgiven, refuse, refuse_value, spelled, wrong_kind
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
    Most,
    Others,
    Unknown,
    Variants,
    Whole,
    Wire,
)

__all__ = ["Walk", "walk_for"]

Walk: TypeAlias = Callable[[Any, Path, Notes], Any]
Metadata: TypeAlias = tuple[Any, ...]
Kind = TypeVar("Kind")

_MISSING = object()


def walk_for(expected: Any, *, strict: bool, hopeful: bool = False) -> Walk:
    """The walk of a type. In strict mode nothing is forgiven and nothing unknown is let through.

    A hopeful walk lets msgspec try each object first: right for the elements of an array, most of which are good.
    """
    found = list(_members(expected, ()))
    if any(member is Any for member, _ in found):
        return _as_it_is
    nullable = any(member is types.NoneType for member, _ in found)
    found = [(member, metadata) for member, metadata in found if member not in {types.NoneType, UnsetType}]
    by_kind: dict[type, Walk] = {}
    scalars: list[tuple[Any, Metadata]] = []
    structs = [(member, metadata) for member, metadata in found if _is_struct(member)]
    if structs:
        by_kind[dict] = _object([member for member, _ in structs], structs[0][1], strict, hopeful)
    for member, metadata in found:
        kind = get_origin(member) or member
        if kind is list:
            by_kind[list] = _array(member, metadata, strict)
        elif kind is dict:
            by_kind[dict] = _map(member, metadata, strict)
        elif not _is_struct(member):
            scalars.append((member, metadata))
    otherwise = _scalar(scalars, strict) if scalars else _refusal(by_kind)
    if not nullable and len(by_kind) + bool(scalars) == 1:
        return next(iter(by_kind.values()), otherwise)
    if nullable:
        by_kind[types.NoneType] = _as_it_is

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        return by_kind.get(value.__class__, otherwise)(value, path, notes)

    return walk


def _members(expected: Any, metadata: Metadata) -> Iterator[tuple[Any, Metadata]]:
    """The types a union admits, each with all that is said about it on the way there."""
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


def _as_it_is(value: Any, path: Path, notes: Notes) -> Any:
    return value


def _refusal(kinds: Iterable[type]) -> Walk:
    expected = " | ".join(KIND_NAMES[kind] for kind in kinds)
    return lambda value, path, notes: wrong_kind(value, path, expected)


def _scalar(admitted: list[tuple[Any, Metadata]], strict: bool) -> Walk:
    members = tuple(_bounded(member, metadata) for member, metadata in admitted)
    expected: Any = Union[members]
    plain = _plain(admitted, strict)
    literals = [str(value) for member in members if get_origin(member) is Literal for value in get_args(member)]
    most = _first((entry for _, about in admitted for entry in about), Most)
    known = next((entry for _, about in admitted for entry in about if strict and isinstance(entry, Known)), None)
    whole = any(member is int for member, _ in admitted) and not any(member is float for member, _ in admitted)

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) in plain:
            return value
        if whole and type(value) is float and value.is_integer():
            value = int(value)  # to JSON, 1.0 is an integer
        try:
            value = msgspec.convert(value, expected, strict=True)
        except msgspec.ValidationError as error:
            _refuse_scalar(path, error, literals)
        except OverflowError:
            refuse(path, "number out of range")
        if most is not None and isinstance(value, int) and value > most.value:
            refuse(path, f"expected `int` <= {most.value}")
        if known is not None and isinstance(value, str) and not known.takes(value):
            refuse_value(path, known.values, own=not known.closed)
        return value

    return walk


def _bounded(member: Any, metadata: Metadata) -> Any:
    if _first(metadata, Variants) is not None:
        return str
    bounds = tuple(entry for entry in metadata if isinstance(entry, Meta))
    return Annotated[(member, *bounds)] if bounds else member


def _plain(admitted: Iterable[tuple[Any, Metadata]], strict: bool) -> frozenset[type]:
    """The types whose every instance is right as it is, so that most values need no call."""
    wanting = (Meta, Known) if strict else (Meta,)
    return frozenset(
        member
        for member, metadata in admitted
        if member in {str, bool, int} and not any(isinstance(entry, wanting) for entry in metadata)
    )


def _refuse_scalar(path: Path, error: msgspec.ValidationError, literals: list[str]) -> NoReturn:
    message = str(error).partition(" - at `")[0]
    if message.startswith(("Expected", "Integer", "Number")):
        refuse(path, message[0].lower() + message[1:])
    refuse_value(path, literals, own=False)  # msgspec would quote the value (FN-41)


def _array(expected: Any, metadata: Metadata, strict: bool) -> Walk:
    item = (get_args(expected) or (Any,))[0]
    read = walk_for(item, strict=strict, hopeful=not strict)
    skip = SKIP_INVALID_ITEMS in metadata and not strict
    check = _length_check(metadata)

    def walk(value: Any, path: Path, notes: Notes) -> list[Any]:
        elements: list[Any] = value
        if type(value) is not list:
            wrong_kind(value, path, "array")
        items: list[Any] = []
        for index, element in enumerate(elements):
            place = (path, index)
            try:
                items.append(read(element, place, notes))
            except Malformed as error:
                if not skip:
                    raise
                note_forgiven(notes, place, "dropped", error)
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
            wrong_kind(value, path, "object")
        check(members, path)
        if read is _as_it_is:
            return members
        return {key: read(element, (path, key), notes) for key, element in members.items()}

    return walk


def _length_check(metadata: Metadata) -> Callable[[list[Any] | dict[str, Any], Path], None]:
    metas = [entry for entry in metadata if isinstance(entry, Meta)]
    least = max((meta.min_length or 0 for meta in metas), default=0)
    most = min((meta.max_length for meta in metas if meta.max_length is not None), default=None)

    def check(items: list[Any] | dict[str, Any], path: Path) -> None:
        if len(items) < least:
            refuse(path, f"expected at least {least} of them")
        if most is not None and len(items) > most:
            refuse(path, f"expected at most {most} of them")

    return check


def _object(structs: list[type[msgspec.Struct]], metadata: Metadata, strict: bool, hopeful: bool) -> Walk:
    is_open, is_closed = OPEN in metadata, CLOSED in metadata
    others = _first(metadata, Others)
    check_other = _struct(Wire if others is None else others.struct, strict, is_part=True)
    walks = [_hopeful(struct) if hopeful else _struct(struct, strict) for struct in structs]
    tagged = {struct.__struct_config__.tag: walk for struct, walk in zip(structs, walks, strict=True)}
    tag_field = structs[0].__struct_config__.tag_field
    if tag_field is None:
        return _untagged(walks[0]) if is_open else walks[0]
    default_tag = _first(metadata, DefaultTag)
    assumed = default_tag.tag if default_tag is not None else None
    # msgspec lets the tag be left out where the type is that one struct, in no union
    if assumed is None and len(structs) == 1 and not is_open:
        assumed = structs[0].__struct_config__.tag

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        if type(value) is not dict:
            wrong_kind(value, path, "object")
        tag = members.get(tag_field, _MISSING)
        if tag is _MISSING:
            if assumed is None or strict:
                refuse((path, tag_field), "required")
            tag = assumed
            if default_tag is not None and notes is not None:
                notes.append(f"{spelled((path, tag_field))}: missing, taken to be {assumed}")
        if type(tag) is not str:
            wrong_kind(tag, (path, tag_field), "str")
        variant = tagged.get(tag)
        if variant is not None:
            return variant(members, path, notes)
        if not is_open or (strict and (is_closed or not tag.startswith("_"))):
            refuse_value((path, tag_field), map(str, tagged), own=is_open and not is_closed)
        if strict:
            check_other(members, path, notes)
        return Unknown(tag, members)

    return walk


def _untagged(read: Walk) -> Walk:
    """The walk of a `Whole` in the place of an open union."""

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        made: Whole = read(value, path, notes)
        return made if made.raw is None else Unknown(made.variant, made.raw)

    return walk


def _hopeful(struct: type[msgspec.Struct]) -> Walk:
    careful = _struct(struct, False)

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        try:
            return msgspec.convert(value, struct)
        except (msgspec.ValidationError, OverflowError):
            return careful(value, path, notes)

    return walk


class _Field(NamedTuple):
    name: str
    plain: frozenset[type]
    read: Walk
    key: str
    older: str | None
    required: bool
    exactly: Walk
    """As `read`, but nothing is forgiven."""


class _Telling(NamedTuple):
    """A member that tells variants apart."""

    key: str
    variants: Variants


@functools.cache
def _struct(struct: type[msgspec.Struct], strict: bool, is_part: bool = False) -> Walk:
    """The walk of a struct; one that `is_part` of what it is given has nothing to say about other members."""
    fields: dict[str, _Field] = {}
    awaited: list[_Field] = []
    tag_field = struct.__struct_config__.tag_field
    missing: Callable[[dict[str, Any]], str | None] | None = getattr(struct, "missing", None) if strict else None

    def prepare() -> None:  # late, because a type may hold itself
        found = list(_fields(struct, strict))
        awaited[:] = [field for field in found if field.required or field.older is not None]
        fields.update((field.key, field) for field in found)

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        if type(value) is not dict:
            wrong_kind(value, path, "object")
        if not fields:
            prepare()
        arguments: dict[str, Any] = {}
        for key, found in members.items():
            field = fields.get(key)
            if field is not None:
                arguments[field[0]] = found if type(found) in field[1] else field[2](found, (path, key), notes)
            elif strict and key != tag_field and not is_part:
                refuse((path, key), "unknown member")
        for field in awaited:
            if field.key not in members:
                _read_older(field, members, arguments, path, notes)
        if missing is not None and (key := missing(members)) is not None:
            refuse((path, key), "required")
        try:
            return struct(**arguments)
        except (ValueError, TypeError) as error:  # what the struct's own check says of its members together
            _refuse_together(fields, members, path, str(error))

    return _whole(walk, struct, strict) if issubclass(struct, Whole) else walk


def _whole(read: Walk, struct: type[Whole], strict: bool) -> Walk:
    """The walk of a `Whole`, which keeps all of an object of a variant that is not listed."""
    telling = list(_telling(struct))

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        members: dict[str, Any] = value
        other = _unlisted(telling, members) if type(value) is dict else None
        if other is None:
            return read(value, path, notes)
        if strict:
            if not other.variants.takes(members[other.key]):
                refuse_value((path, other.key), other.variants.values, own=not other.variants.closed)
            _struct(other.variants.others or Wire, True, is_part=True)(members, path, notes)
            return _struct(struct, False)(members, path, notes)
        made: Whole = read(members, path, notes)
        vars(made).update(raw=members, variant=members[other.key])
        return made

    return walk


def _telling(struct: type[Whole]) -> Iterator[_Telling]:
    for field in msgspec.structs.fields(struct):
        about = [entry for _, metadata in _members(field.type, ()) for entry in metadata]
        variants = _first(about, Variants)
        if variants is not None:
            yield _Telling(field.encode_name, variants)


def _unlisted(telling: Iterable[_Telling], members: dict[str, Any]) -> _Telling | None:
    """What makes an object one of a variant that is not listed."""
    for field in telling:
        value = members.get(field.key)
        if isinstance(value, str) and value not in field.variants.understood:
            return field
    return None


def _refuse_together(fields: dict[str, _Field], members: dict[str, Any], path: Path, reason: str) -> NoReturn:
    """A member that the check misses may be there, and malformed: then that is what is wrong."""
    for key, field in fields.items():
        if key in members and f"`{key}`" in reason:
            field.exactly(members[key], (path, key), None)
    refuse(path, reason)


def _fields(struct: type[msgspec.Struct], strict: bool) -> Iterator[_Field]:
    for field in msgspec.structs.fields(struct):
        members = list(_members(field.type, ()))
        metadata = [entry for _, about in members for entry in about]
        alias = _first(metadata, Alias)
        older = alias.key if alias is not None and not strict else None
        exactly = walk_for(field.type, strict=strict)
        yield _Field(
            name=field.name,
            plain=_plain(members, strict),
            read=exactly if strict else _forgiving(exactly, field, metadata),
            key=field.encode_name,
            older=older,
            required=field.required or (strict and REQUIRED in metadata),
            exactly=exactly,
        )


def _read_older(field: _Field, members: dict[str, Any], arguments: dict[str, Any], path: Path, notes: Notes) -> None:
    if field.older is not None and field.older in members:
        arguments[field.name] = field.read(members[field.older], (path, field.older), notes)
        if notes is not None:
            notes.append(f"{spelled((path, field.older))}: read as {field.key}")
    elif field.required:
        refuse((path, field.key), "required")


def _forgiving(read: Walk, field: FieldInfo, metadata: list[Any]) -> Walk:
    """The walk of what a field holds, with what the field forgives."""
    is_array = any(get_origin(member) is list for member, _ in _members(field.type, ()))
    empty: Callable[[], Any] = list[Any] if is_array else dict[str, Any]
    fallback = _fallback(field, is_array) if DEFAULT_ON_ERROR in metadata else None
    on_null, on_number = DEFAULT_ON_NULL in metadata, NUMBER_IS_TEXT in metadata
    if fallback is None and not on_null:
        return read

    def walk(value: Any, path: Path, notes: Notes) -> Any:
        if value is None and on_null:
            if notes is not None:
                notes.append(f"{spelled(path)}: null, taken as empty")
            return empty()
        if on_number and type(value) is int:
            if notes is not None:
                notes.append(f"{spelled(path)}: a number, taken as text")
            return str(value)
        try:
            return read(value, path, notes)
        except Malformed as error:
            if fallback is None:
                raise
            note_forgiven(notes, path, "ignored", error)
            return fallback()

    return walk


def _fallback(field: FieldInfo, is_array: bool) -> Callable[[], Any] | None:
    if field.default is not NODEFAULT:
        return functools.partial(_as_it_is, field.default, None, None)
    if field.default_factory is not NODEFAULT:
        return field.default_factory
    return list[Any] if is_array else None
