"""Options and commands, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

from accord.dialects.absent import told
from accord.dialects.commands import CommandMapping
from accord.dialects.dialect import Dialect
from accord.dialects.options import choices_to_wire, is_grouped, option_from_wire, option_members
from accord.schema import v1 as wire
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Choice, Option

__all__ = ["COMMANDS", "options_from_wire", "options_to_wire", "select_choices"]

COMMANDS = CommandMapping(wire.AvailableCommand, wire.UnstructuredCommandInput, wire.AvailableCommandsUpdate)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options v1 has; switches only for a client that can show them."""
    written: list[wire.SessionConfigOption] = []
    for option in options:
        members = option_members(option)
        if option.raw is not None:
            dialect.lose("option-kind", option.id)
        elif option.kind == "boolean":
            if dialect.client.boolean_options:
                written.append(wire.SessionConfigBoolean(id=option.id, current_value=bool(option.value), **members))
            else:
                dialect.lose("boolean-option", option.id)
        else:
            value = option.value if isinstance(option.value, str) else ""
            choices = select_choices(dialect, option, wire.SessionConfigSelectChoice)
            written.append(wire.SessionConfigSelect(id=option.id, current_value=value, options=choices, **members))
    return written


def select_choices(dialect: Dialect, option: Option, kind: type[Any]) -> list[Any]:
    """The choices in their groups, or all of them in none; `kind` is the type of a choice or group."""
    if not is_grouped(dialect, option):
        return choices_to_wire(kind, option.choices)
    return [
        kind(
            group=told(group),
            name=group if name is None else name,
            options=choices_to_wire(wire.SessionConfigSelectOption, choices),
            meta=told(meta),
        )
        for (group, name, meta), choices in groupby(option.choices, _group_of)
    ]


def _group_of(choice: Choice) -> tuple[str | None, str | None, dict[str, Any] | None]:
    return choice.group, choice.group_name, choice.group_meta


def options_from_wire(dialect: Dialect, options: Iterable[wire.SessionConfigOption]) -> list[Option]:
    """The options; one of an unknown type keeps what it came as."""
    return [
        _unknown_option(option.tag, option.raw)
        if isinstance(option, UnknownOnWire)
        else option_from_wire(option, option.id, attrgetter("group"))
        for option in options
    ]


def _unknown_option(kind: str, raw: dict[str, Any]) -> Option:
    return Option(id=str(raw.get("id", "")), name=str(raw.get("name", "")), kind=kind, raw=raw)
