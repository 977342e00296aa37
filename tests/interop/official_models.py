"""Messages as the official Python SDK's own models write them: the shortest, and as many long ones as show every variant."""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import acp.schema as official
from pydantic import AnyUrl, BaseModel, RootModel, TypeAdapter

from accord.schema import v1

__all__ = ["dumped", "messages", "model_of"]

# Where our one type has several models there, or one under another name.
RENAMED: dict[Any, Any] = {
    v1.CreateElicitationRequest: official.CreateElicitationRequest,
    v1.CreateElicitationResponse: official.CreateElicitationResponse,
    v1.SetSessionConfigOptionRequest: Union[
        official.SetSessionConfigOptionBooleanRequest, official.SetSessionConfigOptionSelectRequest
    ],
}
SAMPLES: dict[Any, Any] = {
    str: "text",
    int: 3,
    float: 0.5,
    bool: True,
    Any: {"any": ["json", 1, None]},
    AnyUrl: "https://example.com/",
}


def model_of(wire_type: Any) -> Any:
    """The official model of one of our types; None where that package has none."""
    for ours, theirs in RENAMED.items():
        if wire_type is ours or wire_type == ours:
            return theirs
    return getattr(official, wire_type.__name__, None)


def messages(model: Any) -> Iterator[Any]:
    """What the models write, as JSON values."""
    for variant in _members(model):
        yield dumped(variant, _made(variant, optional=False, turn=0))
        for turn in range(_turns(variant)):
            yield dumped(variant, _made(variant, optional=True, turn=turn))


def dumped(model: Any, value: Any) -> Any:
    """As the SDK itself sends it, but for the explicit defaults, which it leaves out."""
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    return adapter.dump_python(
        adapter.validate_python(value), mode="json", by_alias=True, exclude_unset=True, warnings="error"
    )


def _members(annotation: Any) -> list[Any]:
    """The variants of a union without None; of anything else, itself."""
    annotation = _bare(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        return [part for each in get_args(annotation) if each is not type(None) for part in _members(each)]
    if isinstance(annotation, type) and issubclass(annotation, RootModel):
        return _members(annotation.model_fields["root"].annotation)
    return [annotation]


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _turns(annotation: Any) -> int:
    """How many long forms it takes until each variant and each choice in it was shown."""
    members = _members(annotation)
    return len(members) * max(_turns_within(member) for member in members)


def _turns_within(member: Any) -> int:
    if get_origin(member) is Literal:
        return len(get_args(member))
    if get_origin(member) in (list, dict):
        return 1  # a list shows all of them at once
    if isinstance(member, type) and issubclass(member, BaseModel):
        return max((_turns(field.annotation) for field in member.model_fields.values()), default=1)
    return 1


def _made(annotation: Any, *, optional: bool, turn: int) -> Any:
    members = _members(annotation)
    member, turn = members[turn % len(members)], turn // len(members)
    if get_origin(member) is Literal:
        return get_args(member)[turn % len(get_args(member))]
    if get_origin(member) is list:
        (item,) = get_args(member)
        return [_made(item, optional=optional, turn=each) for each in range(_turns(item) if optional else 0)]
    if get_origin(member) is dict:
        item = get_args(member)[1]
        if item is Any:
            return {"text": "text", "number": 1}
        return {f"key {each}": _made(item, optional=optional, turn=each) for each in range(_turns(item))}
    if isinstance(member, type) and issubclass(member, Enum):
        return next(iter(member))
    if isinstance(member, type) and issubclass(member, BaseModel):
        return _object(member, optional=optional, turn=turn)
    return SAMPLES[member]


def _object(model: type[BaseModel], *, optional: bool, turn: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if field.is_required() or optional:
            made[field.alias or name] = _made(field.annotation, optional=optional, turn=turn)
    return made
