"""Converts the options and slash commands of v2, which has no modes beside the mode option."""

from __future__ import annotations

from collections.abc import Iterable

from accord.dialects.all_versions.options import (
    CommandConverter,
    OptionReader,
    choices_to_wire,
    is_grouped,
    option_members,
    record_empty_groups,
)
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import unset_if_none
from accord.schema import v2 as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Option, OptionChoice

COMMANDS = CommandConverter(wire.Command, wire.TextCommandInput, wire.AvailableCommandsUpdate)
OPTIONS = OptionReader("config_id", "group_id", "configId", "id")


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options, without selects that have no choices."""
    wire_options: list[wire.SessionConfigOption] = []
    for option in options:
        members = option_members(option)
        if option.raw is not None:
            wire_options.append(UnknownOnWire(option.kind, {"configId": option.id, **option.raw}))
        elif option.kind == "boolean":
            value = bool(option.value)
            wire_options.append(wire.SessionConfigBoolean(config_id=option.id, current_value=value, **members))
        elif option.choices and isinstance(option.value, str):
            select = wire.SessionConfigSelect(
                config_id=option.id, current_value=option.value, options=_choices(dialect, option), **members
            )
            wire_options.append(select)
        else:
            dialect.record_loss("empty-select", option.id)
    return wire_options


def _choices(dialect: Dialect, option: Option) -> list[wire.SessionConfigSelectChoice]:
    record_empty_groups(dialect, option)
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
