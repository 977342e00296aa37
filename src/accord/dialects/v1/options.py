"""Options, modes and commands, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Choice, Command, Mode, Modes, Option

__all__ = [
    "choices_from_wire",
    "command_from_wire",
    "command_to_wire",
    "modes_from_wire",
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
            choices = _choices_to_wire(option.choices)
            written.append(wire.SessionConfigSelect(current_value=str(option.value), options=choices, **fields))
    return written


def _choices_to_wire(choices: Iterable[Choice]) -> list[wire.SessionConfigSelectChoice]:
    written: list[wire.SessionConfigSelectChoice] = []
    group: wire.SessionConfigSelectChoice | None = None
    for choice in choices:
        fields: dict[str, Any] = {
            "value": choice.value,
            "name": choice.name,
            "description": told(choice.description),
            "meta": told(choice.meta),
        }
        if choice.group is None:
            written.append(wire.SessionConfigSelectChoice(**fields))
            continue
        if group is None or group.group != choice.group:
            group = wire.SessionConfigSelectChoice(
                group=choice.group,
                name=choice.group_name or choice.group,
                options=[],
                meta=told(choice.group_meta),
            )
            written.append(group)
        assert isinstance(group.options, list)
        group.options.append(wire.SessionConfigSelectOption(**fields))
    return written


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
        choices=choices_from_wire(option.options, "group") if is_select else [],
        description=known(option.description),
        category=known(option.category),
        meta=known(option.meta),
    )


def choices_from_wire(options: Iterable[Any], group_key: str) -> list[Choice]:
    """A flat list, or groups, as choices that know their group."""
    choices: list[Choice] = []
    for each in options:
        group = known(getattr(each, group_key))
        if group is None:
            choices.append(_choice(each))
            continue
        for inner in known(each.options) or []:
            choice = _choice(inner)
            choice.group, choice.group_name, choice.group_meta = group, each.name, known(each.meta)
            choices.append(choice)
    return choices


def _choice(option: Any) -> Choice:
    return Choice(value=option.value, name=option.name, description=known(option.description), meta=known(option.meta))


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
