"""Slash commands with or without types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from accord.schema.values import UNSET, Defaulted, Items, Known, Lenient, Open, Whole, Wire, variants

__all__ = ["AvailableCommand", "AvailableCommandInput", "AvailableCommandsUpdate", "CommandInputKind", "CommandKind"]

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
    _Kind = variants(CommandKind, others=_OtherCommand)


class AvailableCommandInput(Whole):
    """Whatever is typed after the name."""

    hint: str
    type: Defaulted[_InputKind] = UNSET


class AvailableCommand(Whole):
    """A command by its name, without the slash."""

    name: str
    description: str
    type: Defaulted[_Kind] = UNSET
    input: Lenient[Open[AvailableCommandInput]] = UNSET


class AvailableCommandsUpdate(Wire, tag_field="sessionUpdate", tag="available_commands_update"):
    """All commands as they are now."""

    available_commands: Items[Open[AvailableCommand]]
