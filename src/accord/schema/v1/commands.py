"""Slash commands the agent offers; the user calls one by writing `/name` at the start of a prompt."""

from __future__ import annotations

from typing import TypeAlias

from accord.schema.values import UNSET, Items, Lenient, Wire

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "UnstructuredCommandInput"]


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
