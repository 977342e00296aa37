"""Converts options, slash commands and the legacy list of models, as far as the versions have them alike.

Law: the shape of the list of models was never specified, only its names. A value that does not look like one is ignored
(AMB-06).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.schema.all_versions import SessionConfigSelectOption
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import EmptyGroup, Option, OptionChoice, SlashCommand
from accord.session.requests import SetOption
from accord.session.updates import CommandsChanged, CommandsPatch, OptionsPatch, Patch

MODE = "mode"
"""The category of options that stand for the modes."""

MODEL = "model"
"""The category of options that choose a model."""

_CHOICE = StructConverter(OptionChoice, SessionConfigSelectOption)


def option_members(option: Option) -> dict[str, Any]:
    """The members that an option of any type has, without its id."""
    return {
        "name": option.name,
        "description": unset_if_none(option.description),
        "category": unset_if_none(option.category),
        "meta": unset_if_none(option.meta),
    }


def is_grouped(dialect: Dialect, option: Option) -> bool:
    """Whether all choices are in groups; where only some are, no groups are sent."""
    grouped = [choice.group is not None for choice in option.choices]
    if any(grouped) and not all(grouped):
        dialect.record_loss("option-groups", option.id)
    return all(grouped)


def record_empty_groups(dialect: Dialect, option: Option) -> None:
    """Record the loss of groups that have no choices."""
    for group in option.empty_groups:
        dialect.record_loss("empty-group", group.id)


def choices_to_wire(wire_type: type[Any], choices: Iterable[OptionChoice]) -> list[Any]:
    """The choices, each as an object of this type, without their groups."""
    return [
        wire_type(
            value=choice.value,
            name=choice.name,
            description=unset_if_none(choice.description),
            meta=unset_if_none(choice.meta),
        )
        for choice in choices
    ]


class OptionReader:
    """For the names that one version gives to the ids of options and of groups of choices."""

    def __init__(self, option_id: str, group_id: str, *raw_ids: str) -> None:
        self._option_id = attrgetter(option_id)
        self._group_id = attrgetter(group_id)
        self._raw_ids = raw_ids

    def all_from_wire(self, dialect: Dialect, options: Iterable[Any]) -> list[Option]:
        """An option of an unknown type is kept unchanged, unless it has no id or no name."""
        read = [
            self._unknown_option(dialect, option) if isinstance(option, UnknownOnWire) else self._from_wire(option)
            for option in options
        ]
        return [option for option in read if option is not None]

    def patch(self, dialect: Dialect, update: Any) -> list[Patch]:
        """The patch of the update that lists all options."""
        return [OptionsPatch(options=self.all_from_wire(dialect, update.config_options), meta=update.meta)]

    def _from_wire(self, option: Any) -> Option:
        kind = str(option.__struct_config__.tag)
        choices, empty = self._choices_from_wire(option.options) if kind == "select" else ([], [])
        return Option(
            id=self._option_id(option),
            name=option.name,
            kind=kind,
            value=option.current_value,
            choices=choices,
            description=none_if_unset(option.description),
            category=none_if_unset(option.category),
            meta=none_if_unset(option.meta),
            empty_groups=empty,
        )

    def _unknown_option(self, dialect: Dialect, option: UnknownOnWire) -> Option | None:
        id = next((option.raw[key] for key in self._raw_ids if key in option.raw), None)
        name = option.raw.get("name")
        if isinstance(id, str) and isinstance(name, str):
            return Option(id=id, name=name, kind=option.tag, raw=option.raw)
        dialect.notes.append("configOptions: dropped one of an unknown type, it has no id or no name")
        return None

    def _choices_from_wire(self, options: Sequence[Any]) -> tuple[list[OptionChoice], list[EmptyGroup]]:
        """The choices of a flat list or of groups, and the groups that have none."""
        choices: list[OptionChoice] = []
        empty: list[EmptyGroup] = []
        for option in options:
            if not option.is_group:
                choices.append(_CHOICE.from_wire(option))
                continue
            group, meta = none_if_unset(self._group_id(option)), none_if_unset(option.meta)
            if not list_or_empty(option.options):
                empty.append(EmptyGroup(id=group or "", name=option.name, after=len(choices), meta=meta))
            members = {"group": group, "group_name": option.name, "group_meta": meta}
            choices += [_CHOICE.from_wire(choice, **members) for choice in list_or_empty(option.options)]
        return choices, empty


def set_option_from_wire(dialect: Dialect, params: Any) -> SetOption:
    return SetOption(
        session_id=params.session_id, option_id=params.config_id, value=params.value, meta=none_if_unset(params.meta)
    )


def is_mode_option(option: Option) -> bool:
    """Whether an option stands for the modes."""
    return option.category == MODE and isinstance(option.value, str)


def mode_option(options: Iterable[Option]) -> Option | None:
    """The first option that stands for the modes."""
    return next(filter(is_mode_option, options), None)


def current_mode(options: Iterable[Option]) -> str | None:
    """The current mode, if an option stands for the modes."""
    option = mode_option(options)
    return None if option is None else str(option.value)


class CommandConverter:
    """For the types of one version: a command, its input, and the update that lists all commands."""

    def __init__(self, command: Callable[..., Any], command_input: Callable[..., Any], update: type[Any]) -> None:
        self._command = command
        self._input = command_input
        self._update = update

    def all_to_wire(self, commands: Iterable[SlashCommand]) -> list[Any]:
        """The commands; one of an unknown type is sent unchanged."""
        return [self._to_wire(command) for command in commands]

    def update_to_wire(self, dialect: Dialect, session_id: str, update: CommandsChanged) -> list[Any]:
        return [self._update(available_commands=self.all_to_wire(update.commands), meta=update.patch.meta)]

    def _to_wire(self, command: SlashCommand) -> Any:
        if command.raw is not None:
            raw = {"type": "command", **command.raw}  # the draft may leave out the type
            return UnknownOnWire(str(raw["type"]), raw)
        hint = UNSET
        if command.hint is not None:
            hint = self._input(hint=command.hint, meta=unset_if_none(command.input_meta))
        return self._command(
            name=command.name, description=command.description, input=hint, meta=unset_if_none(command.meta)
        )


def commands_patch(dialect: Dialect, update: Any) -> list[Patch]:
    """The patch of the update that lists all commands."""
    return [CommandsPatch(commands=commands_from_wire(dialect, update.available_commands), meta=update.meta)]


def commands_from_wire(dialect: Dialect, commands: Iterable[Any]) -> list[SlashCommand]:
    """A command of an unknown type is kept unchanged, unless it has no name or no description."""
    read: list[SlashCommand] = []
    for command in commands:
        if not isinstance(command, UnknownOnWire):
            read.append(_command_from_wire(command))
            continue
        name, description = command.raw.get("name"), command.raw.get("description")
        if isinstance(name, str) and isinstance(description, str):
            read.append(SlashCommand(name=name, description=description, raw=command.raw))
        else:
            dialect.notes.append("availableCommands: dropped one of an unknown type, it has no name or no description")
    return read


def _command_from_wire(command: Any) -> SlashCommand:
    """A slash before the name is removed (AMB-68). A command whose input is of an unknown type is an unknown one."""
    command_input = none_if_unset(command.input)
    read = SlashCommand(
        name=command.name.removeprefix("/"), description=command.description, meta=none_if_unset(command.meta)
    )
    if isinstance(command_input, UnknownOnWire):
        read.raw = msgspec.to_builtins(command, enc_hook=lambda unknown: unknown.__wire__())
    elif command_input is not None:
        read.hint, read.input_meta = command_input.hint, none_if_unset(command_input.meta)
    return read


class _Model(msgspec.Struct, rename="camel", omit_defaults=True):
    model_id: str
    name: str
    description: str | None = None


class _Models(msgspec.Struct, rename="camel"):
    current_model_id: str
    available_models: list[_Model]


def model_option(options: Iterable[Option]) -> Option | None:
    """The first option that chooses a model."""
    return next((option for option in options if option.category == MODEL and isinstance(option.value, str)), None)


def option_to_models(options: Iterable[Option]) -> Any:
    """The list of models that equals the model option; UNSET where there is none. SESS-07"""
    option = model_option(options)
    if option is None:
        return UNSET
    models = [
        _Model(model_id=choice.value, name=choice.name, description=choice.description) for choice in option.choices
    ]
    return msgspec.to_builtins(_Models(current_model_id=str(option.value), available_models=models))


def models_to_option(value: Any) -> Option | None:
    """The model option that equals a list of models; None when the value is not such a list. SESS-40, AMB-06"""
    try:
        models = msgspec.convert(value, _Models)
    except msgspec.ValidationError:
        return None
    choices = [
        OptionChoice(value=model.model_id, name=model.name, description=model.description)
        for model in models.available_models
    ]
    return Option(id=MODEL, name="Model", category=MODEL, value=models.current_model_id, choices=choices)
