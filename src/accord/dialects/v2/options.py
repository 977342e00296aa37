"""Converts the options and slash commands of v2, which has no modes beside the mode option."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.options import (
    MODE,
    CommandConverter,
    OptionReader,
    choices_to_wire,
    is_grouped,
    is_mode_option,
    option_members,
    record_empty_groups,
)
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import unset_if_none
from accord.schema import v2 as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Modes, Option, OptionChoice

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


class SessionOptions:
    """The options and modes of one session."""

    __slots__ = ("modes", "options")

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.modes: Modes | None = None

    @property
    def has_mode_option(self) -> bool:
        """Whether the mode can be sent."""
        return any(map(is_mode_option, self.with_mode_option()))

    def with_mode_option(self) -> list[Option]:
        """The options, with one for the modes if they have none and the id is free."""
        if self.modes is None or any(is_mode_option(option) or option.id == MODE for option in self.options):
            return self.options
        choices = [
            OptionChoice(value=mode.id, name=mode.name, description=mode.description, meta=mode.meta)
            for mode in self.modes.available
        ]
        option = Option(id=MODE, name="Mode", category=MODE, value=self.modes.current, choices=choices)
        return [*self.options, option]

    def set_mode(self, mode_id: str) -> None:
        if self.modes is not None:
            self.modes = replace(self.modes, current=mode_id)
        self.options = [replace(option, value=mode_id) if is_mode_option(option) else option for option in self.options]


class OptionsDialect(Dialect):
    """A dialect that tracks the options of each session."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.session_options: defaultdict[str, SessionOptions] = defaultdict(SessionOptions)

    def forget_session(self, session_id: str) -> None:
        self.session_options.pop(session_id, None)
