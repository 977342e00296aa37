"""Slash commands with or without types."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.values import UNSET, Defaulted, Items, Known, Lenient, Wire

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "CommandInputKind", "CommandKind"]

CommandInputKind: TypeAlias = Annotated[str, Known("text")]
CommandKind: TypeAlias = Annotated[str, Known("command")]


class AvailableCommandInput(Wire):
    """Whatever is typed after the name."""

    hint: str
    type: Defaulted[CommandInputKind] = UNSET


class AvailableCommand(Wire):
    """A command by its name, without the slash."""

    name: str
    description: str
    type: Defaulted[CommandKind] = UNSET
    input: Lenient[AvailableCommandInput] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """All commands as they are now."""

    available_commands: Items[AvailableCommand]
