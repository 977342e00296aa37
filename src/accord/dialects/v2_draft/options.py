"""Options and commands between the draft and words: read by either key, written with both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.dialects.v1.options import choices_from_wire, choices_to_wire
from accord.schema import v2_draft as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Command, Option

__all__ = ["commands_from_wire", "commands_to_wire", "options_from_wire", "options_to_wire"]


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[Any]:
    return [_option_to_wire(dialect, option) for option in options]


def _option_to_wire(dialect: Dialect, option: Option) -> Any:
    if option.raw is not None:
        return UnknownOnWire(option.kind, {"id": option.id, "configId": option.id, **option.raw})
    fields: dict[str, Any] = {
        "id": option.id,
        "name": option.name,
        "description": told(option.description),
        "category": told(option.category),
        "meta": told(option.meta),
    }
    if option.kind == "boolean":
        return wire.SessionConfigBoolean(current_value=bool(option.value), **fields)
    value = option.value if isinstance(option.value, str) else ""
    choices = choices_to_wire(dialect, option, wire.SessionConfigSelectChoice)
    return wire.SessionConfigSelect(current_value=value, options=choices, **fields)


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
            dialect.notes.append("configOptions: dropped one of an unknown type, it has no id or no name")
    return read


def _option_from_wire(option: Any) -> Option:
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


def commands_to_wire(commands: Iterable[Command]) -> list[Any]:
    return [_command_to_wire(command) for command in commands]


def _command_to_wire(command: Command) -> Any:
    if command.raw is not None:
        return UnknownOnWire(str(command.raw.get("type", "")), command.raw)
    given = UNSET
    if command.hint is not None:
        given = wire.AvailableCommandInput(type="text", hint=command.hint, meta=told(command.input_meta))
    return wire.AvailableCommand(
        type="command", name=command.name, description=command.description, input=given, meta=told(command.meta)
    )


def commands_from_wire(commands: Iterable[wire.AvailableCommand]) -> list[Command]:
    """The commands, a slash before their names stripped (AMB-68); one of an unknown type is a plain one."""
    return [_command_from_wire(command) for command in commands]


def _command_from_wire(command: wire.AvailableCommand) -> Command:
    given = known(command.input)
    return Command(
        name=command.name.removeprefix("/"),
        description=command.description,
        hint=None if given is None else given.hint,
        input_meta=None if given is None else known(given.meta),
        meta=known(command.meta),
    )
