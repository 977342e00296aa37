"""Maps options, slash commands and the legacy list of models, as far as all versions spell them alike.

Law: its shape was never specified, only its names. What does not look like one is left alone (AMB-06).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import list_or_empty, none_if_unset, unset_if_none
from accord.schema.wire_values import UNSET, UnsetType
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import EmptyGroup, Option, OptionChoice, SlashCommand
from accord.session.requests import SetOption
from accord.session.updates import CommandsChanged, CommandsPatch, Patch

__all__ = [
    "MODE",
    "MODEL",
    "CommandConverter",
    "choices_to_wire",
    "commands_from_wire",
    "commands_report",
    "current_mode",
    "is_grouped",
    "is_mode_option",
    "mode_option",
    "model_option",
    "models_to_option",
    "note_empty_groups",
    "option_from_wire",
    "option_members",
    "option_to_models",
    "set_option_from_wire",
    "unknown_option",
]

GroupId: TypeAlias = Callable[[Any], str | UnsetType]
"""Given a group on the wire it returns its id, which goes by another name in each version."""

MODE = "mode"
"""The category of options that stand for the modes."""


def option_members(option: Option) -> dict[str, Any]:
    """The members that an option of any type has, without its id."""
    return {
        "name": option.name,
        "description": unset_if_none(option.description),
        "category": unset_if_none(option.category),
        "meta": unset_if_none(option.meta),
    }


def is_grouped(dialect: Dialect, option: Option) -> bool:
    """Whether all choices stand in groups; where only some do, none is told to."""
    grouped = [choice.group is not None for choice in option.choices]
    if any(grouped) and not all(grouped):
        dialect.lose("option-groups", option.id)
    return all(grouped)


def note_empty_groups(dialect: Dialect, option: Option) -> None:
    """Note the loss of groups that have no choices."""
    for group in option.empty_groups:
        dialect.lose("empty-group", group.id)


def choices_to_wire(kind: type[Any], choices: Iterable[OptionChoice]) -> list[Any]:
    """The choices, each as an object of this type, without their groups."""
    return [
        kind(
            value=choice.value,
            name=choice.name,
            description=unset_if_none(choice.description),
            meta=unset_if_none(choice.meta),
        )
        for choice in choices
    ]


def option_from_wire(option: Any, option_id: str, group_id: GroupId) -> Option:
    """An option of a known type, whose tag is its kind."""
    kind = str(option.__struct_config__.tag)
    choices, empty = _choices_from_wire(option.options, group_id) if kind == "select" else ([], [])
    return Option(
        id=option_id,
        name=option.name,
        kind=kind,
        value=option.current_value,
        choices=choices,
        description=none_if_unset(option.description),
        category=none_if_unset(option.category),
        meta=none_if_unset(option.meta),
        empty_groups=empty,
    )


def unknown_option(dialect: Dialect, option: UnknownOnWire, *id_keys: str) -> Option | None:
    """An option of an unknown type, as it came; None, with a note, for one that has no id or name to be known by."""
    identifier = next((option.raw[key] for key in id_keys if key in option.raw), None)
    name = option.raw.get("name")
    if isinstance(identifier, str) and isinstance(name, str):
        return Option(id=identifier, name=name, kind=option.tag, raw=option.raw)
    dialect.notes.append("configOptions: dropped one of an unknown type, it has no id or no name")
    return None


def _choices_from_wire(options: Sequence[Any], group_id: GroupId) -> tuple[list[OptionChoice], list[EmptyGroup]]:
    """A flat list, or groups, as choices that know their group; and the groups that have none."""
    choices: list[OptionChoice] = []
    empty: list[EmptyGroup] = []
    for each in options:
        if not each.is_group:
            choices.append(_choice_from_wire(each))
            continue
        group, meta = none_if_unset(group_id(each)), none_if_unset(each.meta)
        if not list_or_empty(each.options):
            empty.append(EmptyGroup(id=group or "", name=each.name, after=len(choices), meta=meta))
        for inner in list_or_empty(each.options):
            choice = _choice_from_wire(inner)
            choice.group, choice.group_name, choice.group_meta = group, each.name, meta
            choices.append(choice)
    return choices, empty


def _choice_from_wire(option: Any) -> OptionChoice:
    return OptionChoice(
        value=option.value,
        name=option.name,
        description=none_if_unset(option.description),
        meta=none_if_unset(option.meta),
    )


def set_option_from_wire(dialect: Dialect, params: Any) -> SetOption:
    """The choice of a value."""
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
    """The mode in force, if an option stands for the modes."""
    option = mode_option(options)
    return None if option is None else str(option.value)


class CommandConverter:
    """Bound to how one version makes a command, its input, and the update that tells all of them."""

    def __init__(self, command: Callable[..., Any], command_input: Callable[..., Any], update: type[Any]) -> None:
        self._command = command
        self._input = command_input
        self._update = update

    def all_to_wire(self, commands: Iterable[SlashCommand]) -> list[Any]:
        """The commands, in order; one of an unknown type as it came."""
        return [self._to_wire(command) for command in commands]

    def changed(self, dialect: Dialect, session_id: str, change: CommandsChanged) -> list[Any]:
        """The update that tells all commands."""
        return [self._update(available_commands=self.all_to_wire(change.commands), meta=change.patch.meta)]

    def _to_wire(self, command: SlashCommand) -> Any:
        if command.raw is not None:
            return UnknownOnWire(str(command.raw.get("type", "")), command.raw)
        hint = UNSET
        if command.hint is not None:
            hint = self._input(hint=command.hint, meta=unset_if_none(command.input_meta))
        return self._command(
            name=command.name, description=command.description, input=hint, meta=unset_if_none(command.meta)
        )


def commands_report(dialect: Dialect, update: Any) -> list[Patch]:
    """What the update that tells all commands reports."""
    return [CommandsPatch(commands=commands_from_wire(dialect, update.available_commands), meta=update.meta)]


def commands_from_wire(dialect: Dialect, commands: Iterable[Any]) -> list[SlashCommand]:
    """The commands; one of an unknown type is kept as it came, unless it has no name or description to be known by."""
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
    """A command; a slash before its name is stripped (AMB-68). An input of an unknown type makes it an unknown one."""
    given = none_if_unset(command.input)
    read = SlashCommand(
        name=command.name.removeprefix("/"), description=command.description, meta=none_if_unset(command.meta)
    )
    if isinstance(given, UnknownOnWire):
        read.raw = msgspec.to_builtins(command, enc_hook=lambda unknown: unknown.__wire__())
    elif given is not None:
        read.hint, read.input_meta = given.hint, none_if_unset(given.meta)
    return read


MODEL = "model"
"""The category of options that choose a model."""


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
    """The list that says the same as the option for the models; UNSET where there is none. SESS-07"""
    option = model_option(options)
    if option is None:
        return UNSET
    models = [
        _Model(model_id=choice.value, name=choice.name, description=choice.description) for choice in option.choices
    ]
    return msgspec.to_builtins(_Models(current_model_id=str(option.value), available_models=models))


def models_to_option(value: Any) -> Option | None:
    """The option of category `model` that says the same; None when this is no list of models. SESS-40, AMB-06"""
    try:
        models = msgspec.convert(value, _Models)
    except msgspec.ValidationError:
        return None
    choices = [
        OptionChoice(value=model.model_id, name=model.name, description=model.description)
        for model in models.available_models
    ]
    return Option(id=MODEL, name="Model", category=MODEL, value=models.current_model_id, choices=choices)
