"""Options and commands between the draft and words: read by either key, written with both."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from accord.dialects.commands import CommandMapping
from accord.dialects.dialect import Dialect
from accord.dialects.options import option_members
from accord.dialects.v1.options import select_choices
from accord.schema import v2_draft as wire
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Option

__all__ = ["COMMANDS", "options_to_wire"]

COMMANDS = CommandMapping(
    partial(wire.AvailableCommand, type="command"),
    partial(wire.AvailableCommandInput, type="text"),
    wire.AvailableCommandsUpdate,
)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options, those of unknown types too."""
    return [_option_to_wire(dialect, option) for option in options]


def _option_to_wire(dialect: Dialect, option: Option) -> wire.SessionConfigOption:
    if option.raw is not None:
        return UnknownOnWire(option.kind, {"id": option.id, "configId": option.id, **option.raw})
    members = option_members(option)
    if option.kind == "boolean":
        return wire.SessionConfigBoolean(id=option.id, current_value=bool(option.value), **members)
    value = option.value if isinstance(option.value, str) else ""
    choices = select_choices(dialect, option, wire.SessionConfigSelectChoice)
    return wire.SessionConfigSelect(id=option.id, current_value=value, options=choices, **members)
