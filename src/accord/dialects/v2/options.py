"""Options and commands, between v2 and words."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from accord.dialects.all_versions.options import (
    CommandConverter,
    choices_to_wire,
    is_grouped,
    note_empty_groups,
    option_from_wire,
    option_members,
    unknown_option,
)
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import unset_if_none
from accord.schema import v2 as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Option, OptionChoice

__all__ = ["COMMANDS", "options_from_wire", "options_to_wire"]

COMMANDS = CommandConverter(wire.Command, wire.TextCommandInput, wire.AvailableCommandsUpdate)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options, without selects that leave nothing to choose."""
    written: list[wire.SessionConfigOption] = []
    for option in options:
        members = option_members(option)
        if option.raw is not None:
            written.append(UnknownOnWire(option.kind, {"configId": option.id, **option.raw}))
        elif option.kind == "boolean":
            value = bool(option.value)
            written.append(wire.SessionConfigBoolean(config_id=option.id, current_value=value, **members))
        elif option.choices and isinstance(option.value, str):
            select = wire.SessionConfigSelect(
                config_id=option.id, current_value=option.value, options=_choices(dialect, option), **members
            )
            written.append(select)
        else:
            dialect.lose("empty-select", option.id)
    return written


def _choices(dialect: Dialect, option: Option) -> list[wire.SessionConfigSelectChoice]:
    note_empty_groups(dialect, option)
    if not is_grouped(dialect, option):
        return choices_to_wire(wire.SessionConfigSelectChoice, option.choices)
    groups: dict[str | None, list[OptionChoice]] = {}
    for choice in option.choices:
        groups.setdefault(choice.group, []).append(choice)
    return [
        wire.SessionConfigSelectChoice(
            group_id=unset_if_none(group),
            name=choices[0].group_name if choices[0].group_name is not None else group or "",
            options=choices_to_wire(wire.SessionConfigSelectOption, choices),
            meta=unset_if_none(choices[0].group_meta),
        )
        for group, choices in groups.items()
    ]


def options_from_wire(dialect: Dialect, options: Iterable[Any]) -> list[Option]:
    """The options; one of an unknown type is kept as it came, unless it has no id or name to be known by."""
    read = [
        unknown_option(dialect, option, "configId", "id")
        if isinstance(option, UnknownOnWire)
        else option_from_wire(option, option.config_id, attrgetter("group_id"))
        for option in options
    ]
    return [option for option in read if option is not None]
