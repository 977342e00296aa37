"""Session options and slash commands of v2."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from msgspec import Meta

from accord.schema.all_versions import (
    SessionConfigGroupId,
    SessionConfigId,
    SessionConfigOptionCategory,
    SessionConfigSelectOption,
    SessionConfigValueId,
    SessionId,
)
from accord.schema.wire_values import (
    DEFAULT_ON_ERROR,
    REQUIRED,
    SKIP_INVALID_ITEMS,
    UNSET,
    Alias,
    Defaulted,
    DefaultedItems,
    DefaultTag,
    Known,
    Lenient,
    Open,
    OpenOne,
    UnknownVariant,
    UnsetType,
    ValidItems,
    Wire,
)

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "Command",
    "ConfigOption",
    "ConfigOptionUpdate",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigSelect",
    "SessionConfigSelectChoice",
    "SessionConfigSelectOptions",
    "SessionConfigValueType",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "TextCommandInput",
]


class TextCommandInput(Wire, tag_field="type", tag="text"):
    """Free text after the command's name; `hint` is shown while it is empty."""

    hint: str


AvailableCommandInput: TypeAlias = Annotated[OpenOne[TextCommandInput], DefaultTag("text")]


class Command(Wire, tag_field="type", tag="command"):
    """A slash command; its name has no leading slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = UNSET


class _OtherCommand(Wire):
    name: str
    description: str


AvailableCommand: TypeAlias = Annotated[OpenOne[Command], DefaultTag("command"), UnknownVariant(_OtherCommand)]


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list of commands, which replaces the last one."""

    available_commands: ValidItems[AvailableCommand]


SessionConfigValueType: TypeAlias = Annotated[str, Known("id", "boolean")]


class SessionConfigSelectChoice(Wire):
    """An entry of a select: a value (`value`), or a named group of values (`groupId` and `options`).

    A group without valid `options` is read as an empty group; in strict mode it is an error.
    """

    name: str
    value: Defaulted[SessionConfigValueId] = UNSET
    description: Lenient[str] = UNSET
    group_id: Annotated[Defaulted[SessionConfigGroupId], Alias("group")] = UNSET
    options: Annotated[
        Union[Annotated[list[SessionConfigSelectOption], Meta(min_length=1)], UnsetType],
        DEFAULT_ON_ERROR,
        SKIP_INVALID_ITEMS,
    ] = UNSET

    def __post_init__(self) -> None:
        if self.is_group and self.group_id is UNSET:
            raise ValueError("`value`, or `groupId` and `options`, is required")

    @property
    def is_group(self) -> bool:
        """Whether this is a group; otherwise it is a value."""
        return self.value is UNSET

    @staticmethod
    def missing(members: dict[str, Any]) -> str | None:
        """The first member that is missing by the rules of strict mode."""
        return "options" if "value" not in members and "options" not in members else None


SessionConfigSelectOptions: TypeAlias = Annotated[list[SessionConfigSelectChoice], Meta(min_length=1)]


class ConfigOption(Wire, kw_only=True):
    """The members that all types of options have."""

    config_id: Annotated[SessionConfigId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET
    category: Lenient[SessionConfigOptionCategory] = UNSET


class SessionConfigSelect(ConfigOption, tag_field="type", tag="select"):
    """An option with one of several values; either all of them are in groups or none."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions

    def __post_init__(self) -> None:
        if len({choice.is_group for choice in self.options}) > 1:
            raise ValueError("`options` mixes values and groups")


class SessionConfigBoolean(ConfigOption, tag_field="type", tag="boolean"):
    """An option that is on or off."""

    current_value: bool


SessionConfigOption: TypeAlias = Annotated[
    Open[Union[SessionConfigSelect, SessionConfigBoolean]], UnknownVariant(ConfigOption)
]


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list of options, which replaces the last one."""

    config_options: ValidItems[SessionConfigOption]


class SetSessionConfigOptionRequest(Wire):
    """Params of `session/set_config_option`: an `id` of a select, a `boolean`, or a value of the agent's own type."""

    session_id: SessionId
    config_id: SessionConfigId
    type: SessionConfigValueType
    value: Any

    def __post_init__(self) -> None:
        if self.type == "id" and not isinstance(self.value, str):
            raise ValueError("the value of type `id` is a string")
        if self.type == "boolean" and not isinstance(self.value, bool):
            raise ValueError("the value of type `boolean` is a boolean")


class SetSessionConfigOptionResponse(Wire):
    """Result of `session/set_config_option`: all options, because setting one may change others.

    Some agents leave them out; then the last reported options stay, with the requested value.
    """

    config_options: Annotated[DefaultedItems[SessionConfigOption], REQUIRED] = UNSET  # FN-103
