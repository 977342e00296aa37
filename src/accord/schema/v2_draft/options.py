"""Session options and slash commands of the v2 draft, with the keys of either version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union

from accord.schema import v2
from accord.schema.v2_draft.spellings import EITHER, Spelled, spelled
from accord.schema.wire_values import (
    REQUIRED,
    UNSET,
    Defaulted,
    DefaultedItems,
    Items,
    Known,
    Lenient,
    MergedVariants,
    Open,
    Wire,
    variants,
)

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "CommandInputKind",
    "CommandKind",
    "ConfigOption",
    "ConfigOptionUpdate",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigSelect",
    "SessionConfigSelectChoice",
    "SessionConfigSelectOptions",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
]

CommandInputKind: TypeAlias = Annotated[str, Known("text")]
CommandKind: TypeAlias = Annotated[str, Known("command")]


class _OtherCommand(Wire):
    name: str
    description: str


if TYPE_CHECKING:
    _InputKind: TypeAlias = CommandInputKind
    _Kind: TypeAlias = CommandKind
else:
    _InputKind = variants(CommandInputKind)
    _Kind = variants(CommandKind, unknown=_OtherCommand)


class AvailableCommandInput(MergedVariants):
    """Free text after the command's name; `hint` is shown while it is empty."""

    hint: str
    type: Defaulted[_InputKind] = UNSET


class AvailableCommand(MergedVariants):
    """A slash command; its name has no leading slash."""

    name: str
    description: str
    type: Defaulted[_Kind] = UNSET
    input: Lenient[Open[AvailableCommandInput]] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list of commands, which replaces the last one."""

    available_commands: Items[Open[AvailableCommand]]


class SessionConfigSelectChoice(Wire):
    """An entry of a select: a value, or a named group of values, whose id has the keys of both versions."""

    name: str
    value: Defaulted[v2.SessionConfigValueId] = UNSET
    description: Lenient[str] = UNSET
    group_id: Defaulted[v2.SessionConfigGroupId] = UNSET
    group: Defaulted[v2.SessionConfigGroupId] = UNSET
    options: DefaultedItems[v2.SessionConfigSelectOption] = UNSET

    def __post_init__(self) -> None:
        if self.is_group:
            self.group_id = self.group = spelled("groupId", self.group_id, self.group)
            if self.options is UNSET:
                raise ValueError("a group needs `options`")

    @property
    def is_group(self) -> bool:
        """Whether this is a group; otherwise it is a value."""
        return self.value is UNSET


SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectChoice]


class ConfigOption(Wire, kw_only=True):
    """The members that all types of options have."""

    name: str
    config_id: Spelled[v2.SessionConfigId] = EITHER
    id: Spelled[v2.SessionConfigId] = EITHER
    description: Lenient[str] = UNSET
    category: Lenient[v2.SessionConfigOptionCategory] = UNSET

    def __post_init__(self) -> None:
        self.config_id = self.id = spelled("configId", self.config_id, self.id)


class SessionConfigSelect(ConfigOption, tag_field="type", tag="select"):
    """An option with one of several values; either all of them are in groups or none."""

    current_value: v2.SessionConfigValueId
    options: SessionConfigSelectOptions

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({choice.is_group for choice in self.options}) > 1:
            raise ValueError("`options` mixes values and groups")


class SessionConfigBoolean(ConfigOption, tag_field="type", tag="boolean"):
    """An option that is on or off."""

    current_value: bool


SessionConfigOption: TypeAlias = Open[Union[SessionConfigSelect, SessionConfigBoolean]]


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list of options, which replaces the last one."""

    config_options: Items[SessionConfigOption]


class SetSessionConfigOptionRequest(Wire):
    """Params of `session/set_config_option`; without a type the value is a string, as in v1."""

    session_id: v2.SessionId
    config_id: v2.SessionConfigId
    value: Any
    type: Defaulted[v2.SessionConfigValueType] = UNSET

    def __post_init__(self) -> None:
        if self.type in {UNSET, "id"} and not isinstance(self.value, str):
            raise ValueError("the value is a string, unless `type` says otherwise")
        if self.type == "boolean" and not isinstance(self.value, bool):
            raise ValueError("the value of type `boolean` is a boolean")


class SetSessionConfigOptionResponse(Wire):
    """Result of `session/set_config_option`: all options; if they are missing, the last reported ones stay."""

    config_options: Annotated[DefaultedItems[SessionConfigOption], REQUIRED] = UNSET
