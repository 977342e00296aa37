"""Session options and slash commands of v2."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from msgspec import Meta

from accord.schema.v2.identifiers import OpenOne, SessionConfigGroupId, SessionConfigId, SessionConfigValueId, SessionId
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
    Others,
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
    "SessionConfigOptionCategory",
    "SessionConfigSelect",
    "SessionConfigSelectChoice",
    "SessionConfigSelectOption",
    "SessionConfigSelectOptions",
    "SessionConfigValueType",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "TextCommandInput",
]


class TextCommandInput(Wire, tag_field="type", tag="text"):
    """Whatever is typed after the name."""

    hint: str


AvailableCommandInput: TypeAlias = Annotated[OpenOne[TextCommandInput], DefaultTag("text")]


class Command(Wire, tag_field="type", tag="command"):
    """A command by its name, without the slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = UNSET


class _OtherCommand(Wire):
    name: str
    description: str


AvailableCommand: TypeAlias = Annotated[OpenOne[Command], DefaultTag("command"), Others(_OtherCommand)]


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """All commands as they are now."""

    available_commands: ValidItems[AvailableCommand]


SessionConfigValueType: TypeAlias = Annotated[str, Known("id", "boolean")]
SessionConfigOptionCategory: TypeAlias = Annotated[
    str, Known("mode", "model", "model_config", "thought_level", free=True)
]


class SessionConfigSelectOption(Wire):
    """One value to choose."""

    value: SessionConfigValueId
    name: str
    description: Lenient[str] = UNSET


class SessionConfigSelectChoice(Wire):
    """An entry of a select: a value (`value`), or a named group of values (`groupId` and `options`).

    A group whose `options` are missing, malformed or empty is an empty one; in strict mode it is an error.
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
        """What an object that is to be read strictly must have and has not."""
        return "options" if "value" not in members and "options" not in members else None


SessionConfigSelectOptions: TypeAlias = Annotated[list[SessionConfigSelectChoice], Meta(min_length=1)]


class ConfigOption(Wire, kw_only=True):
    """What every kind of option has."""

    config_id: Annotated[SessionConfigId, Alias("id")]
    name: str
    description: Lenient[str] = UNSET
    category: Lenient[SessionConfigOptionCategory] = UNSET


class SessionConfigSelect(ConfigOption, tag_field="type", tag="select"):
    """One of several values, all of them in groups or none."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions

    def __post_init__(self) -> None:
        if len({choice.is_group for choice in self.options}) > 1:
            raise ValueError("`options` mixes values and groups")


class SessionConfigBoolean(ConfigOption, tag_field="type", tag="boolean"):
    """On or off."""

    current_value: bool


SessionConfigOption: TypeAlias = Annotated[Open[Union[SessionConfigSelect, SessionConfigBoolean]], Others(ConfigOption)]


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """All options as they are now."""

    config_options: ValidItems[SessionConfigOption]


class SetSessionConfigOptionRequest(Wire):
    """Choose a value: an `id` of a select, a `boolean`, or what the agent's own kind of option takes."""

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
    """All options after the change, which may have changed others too.

    Agents leave them out; then what they told last, or the value that was asked for, holds.
    """

    config_options: Annotated[DefaultedItems[SessionConfigOption], REQUIRED] = UNSET  # FN-103
