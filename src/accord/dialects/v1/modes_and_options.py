"""Converts the options, slash commands and modes of v1."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from accord.dialects.all_versions.options import (
    CommandConverter,
    OptionReader,
    choices_to_wire,
    is_grouped,
    mode_option,
    option_members,
    record_empty_groups,
)
from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.entities import EmptyGroup, Mode, Modes, Option, OptionChoice

COMMANDS = CommandConverter(wire.AvailableCommand, wire.UnstructuredCommandInput, wire.AvailableCommandsUpdate)
OPTIONS = OptionReader("id", "group", "id")
_MODE = StructConverter(Mode, wire.SessionMode)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options that v1 has; boolean ones only for a client that supports them."""
    wire_options: list[wire.SessionConfigOption] = []
    for option in options:
        members = option_members(option)
        if option.raw is not None:
            dialect.record_loss("option-kind", option.id)
        elif option.kind == "boolean":
            if dialect.client.boolean_options:
                value = bool(option.value)
                wire_options.append(wire.SessionConfigBoolean(id=option.id, current_value=value, **members))
            else:
                dialect.record_loss("boolean-option", option.id)
        else:
            value = option.value if isinstance(option.value, str) else ""
            choices = select_choices(dialect, option, wire.SessionConfigSelectChoice)
            wire_options.append(wire.SessionConfigSelect(id=option.id, current_value=value, options=choices, **members))
    return wire_options


def select_choices(dialect: Dialect, option: Option, wire_type: type[Any]) -> list[Any]:
    """The choices in their groups, or all of them without groups, as objects of this type."""
    if not is_grouped(dialect, option):
        record_empty_groups(dialect, option)
        return choices_to_wire(wire_type, option.choices)
    groups: list[Any] = []
    after, empty = 0, list(option.empty_groups)
    for (group, name, meta), choices in groupby(option.choices, _group_of):
        while empty and empty[0].after <= after:
            groups.append(_empty_group(wire_type, empty.pop(0)))
        options = choices_to_wire(wire.SessionConfigSelectOption, choices)
        after += len(options)
        groups.append(
            wire_type(
                group=unset_if_none(group),
                name=group if name is None else name,
                options=options,
                meta=unset_if_none(meta),
            )
        )
    return [*groups, *(_empty_group(wire_type, group) for group in empty)]


def _empty_group(wire_type: type[Any], group: EmptyGroup) -> Any:
    return wire_type(group=group.id, name=group.name, options=[], meta=unset_if_none(group.meta))


def _group_of(choice: OptionChoice) -> tuple[str | None, str | None, dict[str, Any] | None]:
    return choice.group, choice.group_name, choice.group_meta


def modes_of_options(options: Iterable[Option]) -> Modes | None:
    """The modes that equal the mode option, if there is one."""
    option = mode_option(options)
    if option is None:
        return None
    available = [Mode(id=choice.value, name=choice.name, description=choice.description) for choice in option.choices]
    return Modes(current=str(option.value), available=available)


def modes_to_wire(modes: Modes | None) -> wire.SessionModeState | UnsetType:
    if modes is None:
        return UNSET
    available = list(map(_MODE.to_wire, modes.available))
    return wire.SessionModeState(
        current_mode_id=modes.current, available_modes=available, meta=unset_if_none(modes.meta)
    )


def modes_from_wire(state: wire.SessionModeState | None | UnsetType) -> Modes | None:
    if state is UNSET or state is None:
        return None
    available = list(map(_MODE.from_wire, state.available_modes))
    return Modes(current=state.current_mode_id, available=available, meta=none_if_unset(state.meta))
