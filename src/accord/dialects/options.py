"""Options and their choices, as far as every version spells them alike; and the option that stands for the modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.schema.values import UnsetType
from accord.session.entities import Choice, Option
from accord.session.requests import SetOption

__all__ = [
    "MODE",
    "choices_to_wire",
    "current_mode",
    "is_grouped",
    "is_mode_option",
    "mode_option",
    "option_from_wire",
    "option_members",
    "set_option_from_wire",
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


def choices_to_wire(kind: type[Any], choices: Iterable[Choice]) -> list[Any]:
    """The choices, each as an object of this type, without their groups."""
    return [
        kind(value=choice.value, name=choice.name, description=told(choice.description), meta=told(choice.meta))
        for choice in choices
    ]


def option_from_wire(option: Any, option_id: str, group_id: GroupId) -> Option:
    """An option of a known type, whose tag is its kind."""
    kind = str(option.__struct_config__.tag)
    return Option(
        id=option_id,
        name=option.name,
        kind=kind,
        value=option.current_value,
        choices=_choices_from_wire(option.options, group_id) if kind == "select" else [],
        description=known(option.description),
        category=known(option.category),
        meta=known(option.meta),
    )


def _choices_from_wire(options: Sequence[Any], group_id: GroupId) -> list[Choice]:
    """A flat list, or groups, as choices that know their group."""
    choices: list[Choice] = []
    for each in options:
        if not each.is_group:
            choices.append(_choice_from_wire(each))
            continue
        for inner in listed(each.options):
            choice = _choice_from_wire(inner)
            choice.group, choice.group_name, choice.group_meta = known(group_id(each)), each.name, known(each.meta)
            choices.append(choice)
    return choices


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
