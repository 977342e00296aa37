"""Options, modes and commands, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Choice, Command, Mode, Modes, Option

__all__ = [
    "choices_from_wire",
    "choices_to_wire",
    "command_from_wire",
    "command_to_wire",
    "current_mode",
    "modes_from_wire",
    "modes_of",
    "modes_to_wire",
    "option_from_wire",
    "options_to_wire",
]


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[Any]:
    """The options v1 has; switches only for a client that can show them."""
    written: list[Any] = []
    for option in options:
        fields: dict[str, Any] = {
            "id": option.id,
            "name": option.name,
            "description": told(option.description),
            "category": told(option.category),
            "meta": told(option.meta),
        }
        if option.raw is not None:
            dialect.lose("option-kind", option.id)
        elif option.kind == "boolean":
            if dialect.client.boolean_options:
                written.append(wire.SessionConfigBoolean(current_value=bool(option.value), **fields))
            else:
                dialect.lose("boolean-option", option.id)
        else:
            choices = choices_to_wire(dialect, option, wire.SessionConfigSelectChoice)
            written.append(wire.SessionConfigSelect(current_value=_selected(option), options=choices, **fields))
    return written


def _selected(option: Option) -> str:
    return option.value if isinstance(option.value, str) else ""


def choices_to_wire(dialect: Dialect, option: Option, kind: type[Any]) -> list[Any]:
    """The choices in their groups, or all of them in none; `kind` is the type of a choice or group."""
    grouped = [choice.group is not None for choice in option.choices]
    if not all(grouped):
        if any(grouped):
            dialect.lose("option-groups", option.id)
        return [_choice_to_wire(choice, kind) for choice in option.choices]
    return [
        kind(
            group=told(group),
            name=group if name is None else name,
            options=[_choice_to_wire(choice, wire.SessionConfigSelectOption) for choice in choices],
            meta=told(meta),
        )
        for (group, name, meta), choices in groupby(option.choices, _group_of)
    ]


def _group_of(choice: Choice) -> tuple[str | None, str | None, dict[str, Any] | None]:
    return choice.group, choice.group_name, choice.group_meta


def _choice_to_wire(choice: Choice, kind: type[Any]) -> Any:
    return kind(value=choice.value, name=choice.name, description=told(choice.description), meta=told(choice.meta))


def option_from_wire(option: Any) -> Option:
    """One option as a word; one of an unknown type keeps what it came as."""
    if isinstance(option, UnknownOnWire):
        raw = option.raw
        return Option(id=str(raw.get("id", "")), name=str(raw.get("name", "")), kind=option.tag, raw=raw)
    is_select = isinstance(option, wire.SessionConfigSelect)
    return Option(
        id=option.id,
        name=option.name,
        kind="select" if is_select else "boolean",
        value=option.current_value,
        choices=choices_from_wire(option.options) if is_select else [],
        description=known(option.description),
        category=known(option.category),
        meta=known(option.meta),
    )


def choices_from_wire(options: Iterable[Any]) -> list[Choice]:
    """A flat list, or groups, as choices that know their group."""
    choices: list[Choice] = []
    for each in options:
        if not each.is_group:
            choices.append(_choice(each))
            continue
        for inner in listed(each.options):
            choice = _choice(inner)
            choice.group, choice.group_name, choice.group_meta = known(each.group), each.name, known(each.meta)
            choices.append(choice)
    return choices


def _choice(option: Any) -> Choice:
    return Choice(value=option.value, name=option.name, description=known(option.description), meta=known(option.meta))


def current_mode(options: Iterable[Option]) -> str | None:
    """The value of the mode option."""
    return next((each.value for each in options if each.category == "mode" and isinstance(each.value, str)), None)


def modes_of(options: Iterable[Option]) -> Modes | None:
    """The mode option as modes, for clients that know no options."""
    for option in options:
        if option.category == "mode" and isinstance(option.value, str):
            available = [Mode(id=each.value, name=each.name, description=each.description) for each in option.choices]
            return Modes(current=option.value, available=available)
    return None


def modes_to_wire(modes: Modes | None) -> Any:
    if modes is None:
        return UNSET
    available = [
        wire.SessionMode(id=mode.id, name=mode.name, description=told(mode.description), meta=told(mode.meta))
        for mode in modes.available
    ]
    return wire.SessionModeState(current_mode_id=modes.current, available_modes=available, meta=told(modes.meta))


def modes_from_wire(state: Any) -> Modes | None:
    state = known(state)
    if state is None:
        return None
    available = [
        Mode(id=mode.id, name=mode.name, description=known(mode.description), meta=known(mode.meta))
        for mode in state.available_modes
    ]
    return Modes(current=state.current_mode_id, available=available, meta=known(state.meta))


def command_to_wire(command: Command) -> wire.AvailableCommand:
    hint = UNSET
    if command.hint is not None:
        hint = wire.UnstructuredCommandInput(hint=command.hint, meta=told(command.input_meta))
    return wire.AvailableCommand(
        name=command.name, description=command.description, input=hint, meta=told(command.meta)
    )


def command_from_wire(command: Any) -> Command:
    """A command; a slash before its name is stripped (AMB-68)."""
    given = known(command.input)
    return Command(
        name=command.name.removeprefix("/"),
        description=command.description,
        hint=None if given is None else given.hint,
        input_meta=None if given is None else known(given.meta),
        meta=known(command.meta),
    )
