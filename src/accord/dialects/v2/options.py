"""Options and commands, between v2 and words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from accord.dialects.absent import known, listed, told
from accord.dialects.dialect import Dialect
from accord.schema import v2 as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Choice, Command, Option

__all__ = ["commands_from_wire", "commands_to_wire", "options_from_wire", "options_to_wire"]


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[Any]:
    """The options, without selects that leave nothing to choose."""
    written: list[Any] = []
    for option in options:
        if option.raw is not None:
            written.append(UnknownOnWire(option.kind, {"configId": option.id, **option.raw}))
            continue
        fields: dict[str, Any] = {
            "config_id": option.id,
            "name": option.name,
            "description": told(option.description),
            "category": told(option.category),
            "meta": told(option.meta),
        }
        if option.kind == "boolean":
            written.append(wire.SessionConfigBoolean(current_value=bool(option.value), **fields))
        elif option.choices and isinstance(option.value, str):
            choices = _choices_to_wire(dialect, option)
            written.append(wire.SessionConfigSelect(current_value=option.value, options=choices, **fields))
        else:
            dialect.lose("empty-select", option.id)
    return written


def _choices_to_wire(dialect: Dialect, option: Option) -> list[wire.SessionConfigSelectChoice]:
    grouped = [choice.group is not None for choice in option.choices]
    if not all(grouped):
        if any(grouped):
            dialect.lose("option-groups", option.id)
        return [_choice_to_wire(choice, wire.SessionConfigSelectChoice) for choice in option.choices]
    groups: dict[str | None, list[Choice]] = {}
    for choice in option.choices:
        groups.setdefault(choice.group, []).append(choice)
    return [
        wire.SessionConfigSelectChoice(
            group_id=told(group),
            name=choices[0].group_name if choices[0].group_name is not None else group or "",
            options=[_choice_to_wire(choice, wire.SessionConfigSelectOption) for choice in choices],
            meta=told(choices[0].group_meta),
        )
        for group, choices in groups.items()
    ]


def _choice_to_wire(choice: Choice, kind: type[Any]) -> Any:
    return kind(value=choice.value, name=choice.name, description=told(choice.description), meta=told(choice.meta))


def options_from_wire(dialect: Dialect, options: Iterable[Any]) -> list[Option]:
    """The options; one of an unknown type is kept as it came, unless it has no id or name to be known by."""
    read: list[Option] = []
    for option in options:
        if not isinstance(option, UnknownOnWire):
            read.append(_option_from_wire(option))
            continue
        identifier, name = option.raw.get("configId", option.raw.get("id")), option.raw.get("name")
        if isinstance(identifier, str) and isinstance(name, str):
            read.append(Option(id=identifier, name=name, kind=option.tag, raw=option.raw))
        else:
            dialect.notes.append("configOptions: dropped one of an unknown type, it has no configId or no name")
    return read


def _option_from_wire(option: Any) -> Option:
    is_select = isinstance(option, wire.SessionConfigSelect)
    return Option(
        id=option.config_id,
        name=option.name,
        kind="select" if is_select else "boolean",
        value=option.current_value,
        choices=_choices_from_wire(option.options) if is_select else [],
        description=known(option.description),
        category=known(option.category),
        meta=known(option.meta),
    )


def _choices_from_wire(options: Iterable[wire.SessionConfigSelectChoice]) -> list[Choice]:
    choices: list[Choice] = []
    for each in options:
        if not each.is_group:
            choices.append(_choice_from_wire(each))
            continue
        for inner in listed(each.options):
            choice = _choice_from_wire(inner)
            choice.group, choice.group_name, choice.group_meta = known(each.group_id), each.name, known(each.meta)
            choices.append(choice)
    return choices


def _choice_from_wire(option: Any) -> Choice:
    return Choice(value=option.value, name=option.name, description=known(option.description), meta=known(option.meta))


def commands_to_wire(commands: Iterable[Command]) -> list[Any]:
    return [_command_to_wire(command) for command in commands]


def _command_to_wire(command: Command) -> Any:
    if command.raw is not None:
        return UnknownOnWire(str(command.raw.get("type", "")), command.raw)
    hint = UNSET
    if command.hint is not None:
        hint = wire.TextCommandInput(hint=command.hint, meta=told(command.input_meta))
    return wire.Command(name=command.name, description=command.description, input=hint, meta=told(command.meta))


def commands_from_wire(dialect: Dialect, commands: Iterable[Any]) -> list[Command]:
    """The commands; one of an unknown type is kept as it came, unless it has no name or description to be known by."""
    read: list[Command] = []
    for command in commands:
        if not isinstance(command, UnknownOnWire):
            read.append(_command_from_wire(command))
            continue
        name, description = command.raw.get("name"), command.raw.get("description")
        if isinstance(name, str) and isinstance(description, str):
            read.append(Command(name=name, description=description, raw=command.raw))
        else:
            dialect.notes.append("availableCommands: dropped one of an unknown type, it has no name or no description")
    return read


def _command_from_wire(command: wire.Command) -> Command:
    """A command; a slash before its name is stripped (AMB-68). An input of an unknown type makes it an unknown one."""
    given = known(command.input)
    read = Command(name=command.name.removeprefix("/"), description=command.description, meta=known(command.meta))
    if isinstance(given, UnknownOnWire):
        read.raw = msgspec.to_builtins(command, enc_hook=lambda unknown: unknown.__wire__())
    elif given is not None:
        read.hint, read.input_meta = given.hint, known(given.meta)
    return read
