"""Options and their choices, as far as every version spells them alike; and the option that stands for the modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.schema.values import Unknown as UnknownOnWire
from accord.schema.values import UnsetType
from accord.session.entities import Choice, EmptyGroup, Option
from accord.session.requests import SetOption

__all__ = [
    "MODE",
    "choices_to_wire",
    "current_mode",
    "is_grouped",
    "is_mode_option",
    "mode_option",
    "note_empty_groups",
    "option_from_wire",
    "option_members",
    "set_option_from_wire",
    "unknown_option",
]

GroupId: TypeAlias = Callable[[Any], str | UnsetType]
"""Given a group on the wire it returns its id, which goes by another name in each version."""

MODE = "mode"
"""The category of options that stand for the modes."""


def option_members(option: Option) -> dict[str, Any]:
    """The members that an option of any type has, without its id."""
    return {
        "name": option.name,
        "description": told(option.description),
        "category": told(option.category),
        "meta": told(option.meta),
    }


def is_grouped(dialect: Dialect, option: Option) -> bool:
    """Whether all choices stand in groups; where only some do, none is told to."""
    grouped = [choice.group is not None for choice in option.choices]
    if any(grouped) and not all(grouped):
        dialect.lose("option-groups", option.id)
    return all(grouped)


def note_empty_groups(dialect: Dialect, option: Option) -> None:
    """Note the loss of groups that have no choices."""
    for group in option.empty_groups:
        dialect.lose("empty-group", group.id)


def choices_to_wire(kind: type[Any], choices: Iterable[Choice]) -> list[Any]:
    """The choices, each as an object of this type, without their groups."""
    return [
        kind(value=choice.value, name=choice.name, description=told(choice.description), meta=told(choice.meta))
        for choice in choices
    ]


def option_from_wire(option: Any, option_id: str, group_id: GroupId) -> Option:
    """An option of a known type, whose tag is its kind."""
    kind = str(option.__struct_config__.tag)
    choices, empty = _choices_from_wire(option.options, group_id) if kind == "select" else ([], [])
    return Option(
        id=option_id,
        name=option.name,
        kind=kind,
        value=option.current_value,
        choices=choices,
        description=known(option.description),
        category=known(option.category),
        meta=known(option.meta),
        empty_groups=empty,
    )


def unknown_option(dialect: Dialect, option: UnknownOnWire, *id_keys: str) -> Option | None:
    """An option of an unknown type, as it came; None, with a note, for one that has no id or name to be known by."""
    identifier = next((option.raw[key] for key in id_keys if key in option.raw), None)
    name = option.raw.get("name")
    if isinstance(identifier, str) and isinstance(name, str):
        return Option(id=identifier, name=name, kind=option.tag, raw=option.raw)
    dialect.notes.append("configOptions: dropped one of an unknown type, it has no id or no name")
    return None


def _choices_from_wire(options: Sequence[Any], group_id: GroupId) -> tuple[list[Choice], list[EmptyGroup]]:
    """A flat list, or groups, as choices that know their group; and the groups that have none."""
    choices: list[Choice] = []
    empty: list[EmptyGroup] = []
    for each in options:
        if not each.is_group:
            choices.append(_choice_from_wire(each))
            continue
        group, meta = known(group_id(each)), known(each.meta)
        if not listed(each.options):
            empty.append(EmptyGroup(id=group or "", name=each.name, after=len(choices), meta=meta))
        for inner in listed(each.options):
            choice = _choice_from_wire(inner)
            choice.group, choice.group_name, choice.group_meta = group, each.name, meta
            choices.append(choice)
    return choices, empty


def _choice_from_wire(option: Any) -> Choice:
    return Choice(value=option.value, name=option.name, description=known(option.description), meta=known(option.meta))


def set_option_from_wire(dialect: Dialect, params: Any) -> SetOption:
    """The choice of a value."""
    return SetOption(
        session_id=params.session_id, option_id=params.config_id, value=params.value, meta=known(params.meta)
    )


def is_mode_option(option: Option) -> bool:
    """Whether an option stands for the modes."""
    return option.category == MODE and isinstance(option.value, str)


def mode_option(options: Iterable[Option]) -> Option | None:
    """The first option that stands for the modes."""
    return next(filter(is_mode_option, options), None)


def current_mode(options: Iterable[Option]) -> str | None:
    """The mode in force, if an option stands for the modes."""
    option = mode_option(options)
    return None if option is None else str(option.value)
