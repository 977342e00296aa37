"""Slash commands that a session offers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from accord.schema.v2.tags import OpenOne
from accord.schema.values import UNSET, DefaultTag, Lenient, Others, ValidItems, Wire

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "Command", "TextCommandInput"]


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
