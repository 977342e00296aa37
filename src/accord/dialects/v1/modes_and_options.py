"""Options and commands, between v1 and words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
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
from accord.schema import v1 as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import EmptyGroup, Option, OptionChoice

__all__ = ["COMMANDS", "options_from_wire", "options_to_wire", "select_choices"]

COMMANDS = CommandConverter(wire.AvailableCommand, wire.UnstructuredCommandInput, wire.AvailableCommandsUpdate)


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
        note_empty_groups(dialect, option)
        return choices_to_wire(kind, option.choices)
    written: list[Any] = []
    after, empty = 0, list(option.empty_groups)
    for (group, name, meta), choices in groupby(option.choices, _group_of):
        while empty and empty[0].after <= after:
            written.append(_empty_group(kind, empty.pop(0)))
        options = choices_to_wire(wire.SessionConfigSelectOption, choices)
        after += len(options)
        written.append(
            kind(
                group=unset_if_none(group),
                name=group if name is None else name,
                options=options,
                meta=unset_if_none(meta),
            )
        )
    return [*written, *(_empty_group(kind, group) for group in empty)]


def _empty_group(kind: type[Any], group: EmptyGroup) -> Any:
    return kind(group=group.id, name=group.name, options=[], meta=unset_if_none(group.meta))


def _group_of(choice: OptionChoice) -> tuple[str | None, str | None, dict[str, Any] | None]:
    return choice.group, choice.group_name, choice.group_meta


def options_from_wire(dialect: Dialect, options: Iterable[wire.SessionConfigOption]) -> list[Option]:
    """The options; one of an unknown type is kept as it came, unless it has no id or name to be known by."""
    read = [
        unknown_option(dialect, option, "id")
        if isinstance(option, UnknownOnWire)
        else option_from_wire(option, option.id, attrgetter("group"))
        for option in options
    ]
    return [option for option in read if option is not None]
