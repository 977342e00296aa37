"""Session options of v1, the modes and models they supersede, and slash commands."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, Union

from accord.schema.v1.identifiers import (
    ModelId,
    SessionConfigGroupId,
    SessionConfigId,
    SessionConfigValueId,
    SessionId,
    SessionModeId,
)
from accord.schema.wire_values import (
    REQUIRED,
    UNSET,
    Closed,
    Defaulted,
    DefaultedItems,
    Items,
    Known,
    Lenient,
    Wire,
)

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "ConfigOption",
    "ConfigOptionUpdate",
    "SessionConfigBoolean",
    "SessionConfigOption",
    "SessionConfigOptionCategory",
    "SessionConfigSelect",
    "SessionConfigSelectChoice",
    "SessionConfigSelectOption",
    "SessionConfigSelectOptions",
    "SessionConfigValueKind",
    "SessionMode",
    "SessionModeState",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionModeRequest",
    "SetSessionModeResponse",
    "SetSessionModelRequest",
    "SetSessionModelResponse",
    "UnstructuredCommandInput",
]


class UnstructuredCommandInput(Wire):
    """Free text after the command's name; `hint` is shown while there is none."""

    hint: str


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(Wire):
    """A command; its name is written without the slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """All commands there are from now on."""

    available_commands: Items[AvailableCommand]


SessionConfigOptionCategory: TypeAlias = Annotated[
    str, Known("mode", "model", "model_config", "thought_level", free=True)
]
"""Where a client may show the option; nothing but the display depends on it."""


class ConfigOption(Wire, kw_only=True):
    """The members that options of all types have."""

    id: SessionConfigId
    name: str
    description: Lenient[str] = UNSET
    category: Lenient[SessionConfigOptionCategory] = UNSET


class SessionConfigSelectOption(Wire):
    """One of the values to choose from."""

    value: SessionConfigValueId
    name: str
    description: Lenient[str] = UNSET


class SessionConfigSelectChoice(Wire):
    """An element of a select's list: a `value` to choose, or a `group` of several; one that has both is a value.

    A group whose `options` are missing or malformed is an empty one.
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
        """Whether `options` holds the values; otherwise this is one itself."""
        return self.value is UNSET

    @staticmethod
    def missing(members: dict[str, Any]) -> str | None:
        """What an object that is to be read strictly must have and has not."""
        return "options" if "value" not in members and "options" not in members else None


SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectChoice]
"""Values only or groups only, never both."""


class SessionConfigSelect(ConfigOption, tag_field="type", tag="select"):
    """An option with one value out of a list."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions

    def __post_init__(self) -> None:
        if len({choice.is_group for choice in self.options}) > 1:
            raise ValueError("`options` mixes values and groups")


class SessionConfigBoolean(ConfigOption, tag_field="type", tag="boolean"):
    """A switch; only for clients with `session.configOptions.boolean`."""

    current_value: bool


SessionConfigOption: TypeAlias = Closed[Union[SessionConfigSelect, SessionConfigBoolean]]


class ConfigOptionUpdate(Wire, tag_field="sessionUpdate", tag="config_option_update"):
    """All options as they now stand."""

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
    """Result of `session/set_config_option`: all options, since setting one may change others.

    Agents leave them out; then what they told last, or the value that was asked for, holds.
    """

    config_options: Annotated[DefaultedItems[SessionConfigOption], REQUIRED] = UNSET  # FN-103


class SessionMode(Wire):
    """A way for the agent to work, such as only answering questions."""

    id: SessionModeId
    name: str
    description: Lenient[str] = UNSET


class SessionModeState(Wire):
    """The modes of a session and the one it is in."""

    current_mode_id: SessionModeId
    available_modes: Items[SessionMode]


class SetSessionModeRequest(Wire):
    """Params of `session/set_mode`; the mode must be one of those the session listed."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(Wire):
    """Result of `session/set_mode`."""


class SetSessionModelRequest(Wire):
    """Params of `session/set_model`. Unstable, and left out of later versions for an option of category "model"."""

    session_id: SessionId
    model_id: ModelId


class SetSessionModelResponse(Wire):
    """Result of `session/set_model`. Unstable."""
