"""Session options of v1, the modes and models that they replace, and slash commands."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from accord.schema.all_versions import (
    SessionConfigGroupId,
    SessionConfigId,
    SessionConfigOptionCategory,
    SessionConfigSelectOption,
    SessionConfigValueId,
    SessionId,
)
from accord.schema.wire_values import REQUIRED, UNSET, Closed, Defaulted, DefaultedItems, Items, Known, Lenient, Wire

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "ConfigOption",
    "ConfigOptionUpdate",
    "ModelId",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigSelect",
    "SessionConfigSelectChoice",
    "SessionConfigSelectOptions",
    "SessionConfigValueKind",
    "SessionMode",
    "SessionModeId",
    "SessionModeState",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
    "SetSessionModelRequest",
    "SetSessionModelResponse",
    "UnstructuredCommandInput",
]

ModelId: TypeAlias = str
SessionModeId: TypeAlias = str


class UnstructuredCommandInput(Wire):
    """Free text after the command's name; `hint` is shown while it is empty."""

    hint: str


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(Wire):
    """A slash command; its name has no leading slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list of commands, which replaces the last one."""

    available_commands: Items[AvailableCommand]


class ConfigOption(Wire, kw_only=True):
    """The members that all types of options have."""

    id: SessionConfigId
    name: str
    description: Lenient[str] = UNSET
    category: Lenient[SessionConfigOptionCategory] = UNSET


class SessionConfigSelectChoice(Wire):
    """An entry of a select: a `value`, or a `group` of values; an entry with both is a value.

    A group without valid `options` is read as an empty group.
    """

    name: str
    value: Defaulted[SessionConfigValueId] = UNSET
    description: Lenient[str] = UNSET
    group: Defaulted[SessionConfigGroupId] = UNSET
    options: DefaultedItems[SessionConfigSelectOption] = UNSET

    def __post_init__(self) -> None:
        if self.is_group:
            if self.group is UNSET:
                raise ValueError("a choice needs `value` or `group`")
            if self.options is UNSET:
                self.options = []

    @property
    def is_group(self) -> bool:
        """Whether this is a group of values; otherwise it is a value."""
        return self.value is UNSET

    @staticmethod
    def missing(members: dict[str, Any]) -> str | None:
        """The first member that is missing by the rules of strict mode."""
        return "options" if "value" not in members and "options" not in members else None


SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectChoice]
"""Either values or groups, never both."""


class SessionConfigSelect(ConfigOption, tag_field="type", tag="select"):
    """An option with one of several values."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions

    def __post_init__(self) -> None:
        if len({choice.is_group for choice in self.options}) > 1:
            raise ValueError("`options` mixes values and groups")


class SessionConfigBoolean(ConfigOption, tag_field="type", tag="boolean"):
    """An option that is on or off; only for clients with `session.configOptions.boolean`."""

    current_value: bool


SessionConfigOption: TypeAlias = Closed[Union[SessionConfigSelect, SessionConfigBoolean]]


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """The complete list of options, which replaces the last one."""

    config_options: Items[SessionConfigOption]


SessionConfigValueKind: TypeAlias = Annotated[str, Known("boolean", closed=True)]


class SetSessionConfigOptionRequest(Wire):
    """Params of `session/set_config_option`: a bool with the type "boolean", otherwise the id of a listed value."""

    session_id: SessionId
    config_id: SessionConfigId
    value: Union[SessionConfigValueId, bool]
    type: Defaulted[SessionConfigValueKind] = UNSET

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) is not (self.type == "boolean"):
            raise ValueError("`value` must be a bool with the type boolean, and a string otherwise")


class SetSessionConfigOptionResponse(Wire):
    """Result of `session/set_config_option`: all options, because setting one may change others.

    Some agents leave them out; then the last reported options stay, with the requested value.
    """

    config_options: Annotated[DefaultedItems[SessionConfigOption], REQUIRED] = UNSET  # FN-103


class SessionMode(Wire):
    """A mode of the agent, such as only answering questions."""

    id: SessionModeId
    name: str
    description: Lenient[str] = UNSET


class SessionModeState(Wire):
    """The modes of a session, and the current one."""

    current_mode_id: SessionModeId
    available_modes: Items[SessionMode]


class SetSessionModeRequest(Wire):
    """Params of `session/set_mode`; the mode must be one of the session's `availableModes`."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(Wire):
    """Result of `session/set_mode`."""


class SetSessionModelRequest(Wire):
    """Params of `session/set_model`. Unstable, and replaced in later versions by an option of category "model"."""

    session_id: SessionId
    model_id: ModelId


class SetSessionModelResponse(Wire):
    """Result of `session/set_model`. Unstable."""
