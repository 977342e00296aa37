"""Writes and commands that agents of v1 ask their client for, put to the permission policy like tool calls.

Law: what was allowed in this turn needs no second question: the same file, or the same command in the same directory
with the same variables. All else does.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import PurePath
from typing import Any, cast

from accord.client.programs import shown
from accord.session.entities import Diff, FileChange, Location
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    PermissionAnswer,
    PermissionOption,
    RequestPermission,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import ToolCallPatch

__all__ = ["DIRECTORIES", "Clearance", "allows", "may_run", "may_write"]

_ONCE = PermissionOption(id="allow", name="Allow", kind="allow_once")
_ALWAYS = PermissionOption(id="allow_always", name="Allow all writes in this session", kind="allow_always")
_NO = PermissionOption(id="reject", name="Reject", kind="reject_once")
_SHELLS = ("sh", "bash", "dash", "zsh")
_SYSTEM = ("/bin", "/usr/bin")
DIRECTORIES = ("cwd", "directory", "workdir")
"""What tools mostly call theirs."""


def may_write(asked: WriteFile, old_text: str | None) -> RequestPermission:
    """The question whether a file may be written; its tool call has no id, because the agent has named none."""
    operation = "add" if old_text is None else "modify"
    change = FileChange(operation=operation, path=asked.path, old_text=old_text, new_text=asked.content)
    call = ToolCallPatch(
        id="",
        title=f"Write {asked.path}",
        kind="edit",
        locations=[Location(path=asked.path)],
        content=[Diff(changes=[change])],
    )
    return RequestPermission(
        session_id=asked.session_id,
        options=[_ONCE, _ALWAYS, _NO],
        title=call.title or None,
        subject=ToolCallSubject(call=call),
    )


def may_run(asked: CreateTerminal, cwd: str) -> RequestPermission:
    """The question whether a command may be run, with the variables that are set for it."""
    line = _line(asked)
    return RequestPermission(
        session_id=asked.session_id,
        options=[_ONCE, _NO],
        title=f"Run {line}",
        subject=CommandSubject(command=line, cwd=cwd),
    )


def _told_directory(raw_input: Any) -> str | None:
    """Where a tool call says that its command would run; None when it says nothing: where the session works."""
    told = cast("dict[str, Any]", raw_input) if isinstance(raw_input, dict) else {}
    return next((str(told[name]) for name in DIRECTORIES if told.get(name) is not None), None)


def allows(asked: RequestPermission, answer: PermissionAnswer) -> bool:
    """Whether the answer is a yes."""
    chosen = [option for option in asked.options if option.id == answer.option_id]
    return answer.outcome == "selected" and bool(chosen) and all(each.kind.startswith("allow") for each in chosen)


class Clearance:
    """What was allowed, by session: files and commands until the turn ends, all writes for ever."""

    def __init__(self) -> None:
        self._paths: dict[str, set[str]] = {}
        self._commands: dict[str, set[tuple[str, str | None]]] = {}
        """Each with its directory, as it was told; None is where the session works."""
        self._all_writes: set[str] = set()

    def note(self, asked: RequestPermission, answer: PermissionAnswer) -> None:
        """A question of the agent's, or of ours, was answered."""
        if not allows(asked, answer):
            return
        session_id, subject = asked.session_id, asked.subject
        if answer.option_id == _ALWAYS.id and _ALWAYS in asked.options:
            self._all_writes.add(session_id)
        if isinstance(subject, CommandSubject):
            self._commands.setdefault(session_id, set()).add((subject.command, subject.cwd))
        elif isinstance(subject, ToolCallSubject):
            self._paths.setdefault(session_id, set()).update(_written(subject.call))
            self._commands.setdefault(session_id, set()).update(_run(subject.call))

    def covers(self, asked: WriteFile) -> bool:
        """Whether this was allowed before."""
        session_id = asked.session_id
        is_named = os.path.normpath(asked.path) in self._paths.get(session_id, ())
        return is_named or session_id in self._all_writes

    def places(self, asked: CreateTerminal) -> set[str | None]:
        """The directories in which this was allowed before, as they were told; None is where the session works."""
        spellings = _spellings(asked)
        return {cwd for command, cwd in self._commands.get(asked.session_id, ()) if command in spellings}

    def turn_ended(self, session_id: str) -> None:
        """What was allowed in it is used up."""
        self._paths.pop(session_id, None)
        self._commands.pop(session_id, None)


def _written(call: ToolCallPatch) -> set[str]:
    named = [change.path for item in call.content or () if isinstance(item, Diff) for change in item.changes]
    if call.kind == "edit":
        named += [place.path for place in call.locations or ()]
    return {os.path.normpath(path) for path in named}


def _run(call: ToolCallPatch) -> set[tuple[str, str | None]]:
    told: Any = call.raw_input
    command = cast("dict[str, Any]", told).get("command") if isinstance(told, dict) else None
    if isinstance(command, list):
        command = shlex.join(map(str, cast("list[Any]", command)))
    return {(command, _told_directory(told))} if isinstance(command, str) else set()


def _line(asked: CreateTerminal) -> str:
    """As a user would type it."""
    env = [f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in asked.env.items()]
    return " ".join([*env, shown(asked)])


def _spellings(asked: CreateTerminal) -> set[str]:
    line, is_one_program = _line(asked), bool(asked.args) or shlex.quote(asked.command) == asked.command
    if asked.env and not is_one_program:
        return set()  # what is written before a line of several commands is set for the first of them alone
    if asked.env or len(asked.args) != 2 or asked.args[0] not in ("-c", "-lc") or not _is_shell(asked.command):
        return {line}
    return {line, asked.args[1]}


def _is_shell(program: str) -> bool:
    """Not whatever the agent has put somewhere under the name of one."""
    name, place = PurePath(program).name, str(PurePath(program).parent)
    return name in _SHELLS and (program == name or place in _SYSTEM or program == shutil.which(name))
