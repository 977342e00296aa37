"""Slash commands between wire and words; the versions differ in the types they give to a command and its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import Command
from accord.session.updates import CommandsChanged, CommandsReport, Report

__all__ = ["CommandMapping", "commands_from_wire", "commands_report"]


class CommandMapping:
    """Bound to how one version makes a command, its input, and the update that tells all of them."""

    def __init__(self, command: Callable[..., Any], command_input: Callable[..., Any], update: type[Any]) -> None:
        self._command = command
        self._input = command_input
        self._update = update

    def all_to_wire(self, commands: Iterable[Command]) -> list[Any]:
        """The commands, in order; one of an unknown type as it came."""
        return [self._to_wire(command) for command in commands]

    def changed(self, dialect: Dialect, session_id: str, change: CommandsChanged) -> list[Any]:
        """The update that tells all commands."""
        return [self._update(available_commands=self.all_to_wire(change.commands), meta=change.patch.meta)]

    def _to_wire(self, command: Command) -> Any:
        if command.raw is not None:
            return UnknownOnWire(str(command.raw.get("type", "")), command.raw)
        hint = UNSET
        if command.hint is not None:
            hint = self._input(hint=command.hint, meta=told(command.input_meta))
        return self._command(name=command.name, description=command.description, input=hint, meta=told(command.meta))


def commands_report(dialect: Dialect, update: Any) -> list[Report]:
    """What the update that tells all commands reports."""
    return [CommandsReport(commands=commands_from_wire(dialect, update.available_commands), meta=update.meta)]


def commands_from_wire(dialect: Dialect, commands: Iterable[Any]) -> list[Command]:
    """The commands; one of an unknown type is kept as it came, unless it has no name or description to be known by."""
    read: list[Command] = []
    for command in commands:
        if not isinstance(command, UnknownOnWire):
            read.append(_command_from_wire(command))
            continue
        name, description = command.raw.get("name"), command.raw.get("description")
        if isinstance(name, str) and isinstance(description, str):
            read.append(Command(name=name, description=description, raw=command.raw))
        else:
            dialect.notes.append("availableCommands: dropped one of an unknown type, it has no name or no description")
    return read


def _command_from_wire(command: Any) -> Command:
    """A command; a slash before its name is stripped (AMB-68). An input of an unknown type makes it an unknown one."""
    given = known(command.input)
    read = Command(name=command.name.removeprefix("/"), description=command.description, meta=known(command.meta))
    if isinstance(given, UnknownOnWire):
        read.raw = msgspec.to_builtins(command, enc_hook=lambda unknown: unknown.__wire__())
    elif given is not None:
        read.hint, read.input_meta = given.hint, known(given.meta)
    return read
