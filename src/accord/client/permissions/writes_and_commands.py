"""Writes and commands that agents of v1 ask their client for, put to the permission policy like tool calls.

Law: a permission that the agent has asked for itself covers one use, in its session, while its tool call is open: a write
to each file that it named, or the command that it told, in the same directory with the same variables. A command is the
same if it is so letter by letter, after removing at most one `sh -c` or `bash -lc`, and from the line in it one `cd` to
the directory that it is started in; nothing is expanded. Variables that only keep programs from colours and questions are
no difference. All else is asked.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct

from accord.client.workspace.terminals import shown
from accord.session.entities import Diff, FileChange, Location
from accord.session.memory_estimate import weigh
from accord.session.requests import (
    CommandSubject,
    CreateTerminal,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
    WriteFile,
)
from accord.session.updates import ToolCallPatch
from accord.session.value import UNSET

__all__ = [
    "COMMANDS",
    "DIRECTORIES",
    "PATHS",
    "TEXTS",
    "Clearance",
    "Grant",
    "Told",
    "allows",
    "allows_all_writes",
    "command_told",
    "inner_line",
    "may_run",
    "may_write",
    "members",
    "told_by",
]

_ONCE = PermissionOption(id="allow", name="Allow", kind="allow_once")
_ALWAYS = PermissionOption(id="allow_always", name="Allow all writes in this session", kind="allow_always")
_NO = PermissionOption(id="reject", name="Reject", kind="reject_once")
_MOST_GRANTS = 1000
_GRANTED_BYTES = 4 * 1024 * 1024
_SHELLS = ("sh", "bash")
_SYSTEM = ("/bin", "/usr/bin")
_QUIET = {"NO_COLOR": "1", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0"}
_SHELL_LINE = re.compile(r"""([\w/.-]+) (-l?c) (?:'([^']*)'|"([^"$`\\!]*)")""")

# What tools mostly call their arguments.
COMMANDS = ("command", "cmd")
DIRECTORIES = ("cwd", "directory", "workdir")
PATHS = ("path", "file_path", "filePath", "filepath", "abs_path", "absolute_path", "relative_path", "relativePath")
TEXTS = (
    *("content", "file_text", "before", "after", "old_text", "new_text", "oldText", "newText"),
    *("old_string", "new_string", "oldString", "newString", "old_str", "new_str"),
)


def may_write(asked: WriteFile, old_text: str | None) -> PermissionRequest:
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
    return PermissionRequest(
        session_id=asked.session_id,
        options=[_ONCE, _ALWAYS, _NO],
        title=call.title or None,
        subject=ToolCallSubject(call=call),
    )


def may_run(asked: CreateTerminal, cwd: str) -> PermissionRequest:
    """The question whether a command may be run, with the variables that are set for it."""
    line = _line(asked)
    return PermissionRequest(
        session_id=asked.session_id,
        options=[_ONCE, _NO],
        title=f"Run {line}",
        subject=CommandSubject(command=line, cwd=cwd),
    )


def allows(asked: PermissionRequest, answer: PermissionAnswer) -> bool:
    """Whether the answer is a yes."""
    chosen = [option for option in asked.options if option.id == answer.option_id]
    return answer.outcome == "selected" and bool(chosen) and all(each.kind.startswith("allow") for each in chosen)


def allows_all_writes(asked: PermissionRequest) -> bool:
    """Whether its always-choice is ours: for all writes of the session, not for what is asked alone."""
    return _ALWAYS in asked.options


class Told(Struct, frozen=True):
    """What a permission names: a file to be written or, with `command`, a command line and where it would run.

    `place` is as it was told, from the session's directory on, which is the empty one.
    """

    place: str
    command: str | None = None
    inner: str | None = None
    """The line in the one `sh -c` or `bash -lc` that the command is, if it is that."""
    env: Mapping[str, str] = {}

    def is_command_of(self, asked: CreateTerminal) -> bool:
        """Whether the command that is asked for is this one, after removing at most one shell around either of them."""
        env = {name: value for name, value in asked.env.items() if name in self.env or not _is_quiet(name, value)}
        if env == self.env:
            words = [asked.command, *asked.args] if asked.args else asked.command
            whole, inner = shown(asked), None if env else inner_line(words)
        elif not self.env and (asked.args or shlex.quote(asked.command) == asked.command):
            whole, inner = _line(asked), None
        else:  # what is written before a line of several commands is set for the first of them alone
            return False
        return whole in (self.command, self.inner) or (
            inner is not None and self.command in (inner, _without_cd(inner, asked.cwd))
        )


class Grant:
    """One use of what a permission names, while the tool call that it was asked for is open."""

    def __init__(self, told: Told, place: str, is_open: Callable[[], bool]) -> None:
        self.told = told
        self.place = place
        """Where that really was when it was allowed."""
        self.is_open = is_open
        self._is_used = False

    @property
    def weight(self) -> int:
        """The memory that it takes."""
        return weigh(self.told) + len(self.place)

    def use(self) -> bool:
        """Whether this was the one use."""
        was_used, self._is_used = self._is_used, True
        return not was_used

    def is_for(self, asked: WriteFile | CreateTerminal) -> bool:
        """Whether it may be for this, as far as that can be told without looking where it is."""
        if self._is_used or not self.is_open():
            return False
        if isinstance(asked, WriteFile):
            return self.told.command is None
        return self.told.command is not None and self.told.is_command_of(asked)


class Clearance:
    """What was allowed, by session: single uses until the turn ends, all writes for ever."""

    def __init__(self) -> None:
        self._grants: dict[str, list[Grant]] = {}
        self._all_writes: set[str] = set()

    def note(self, asked: PermissionRequest, answer: PermissionAnswer) -> None:
        """A question was answered: an always-choice of ours counts from now on."""
        if allows(asked, answer) and answer.option_id == _ALWAYS.id and _ALWAYS in asked.options:
            self._all_writes.add(asked.session_id)

    def add(self, session_id: str, grants: Iterable[Grant]) -> None:
        """What a permission names may be done once."""
        known = [each for each in self._grants.get(session_id, ()) if each.is_open()]
        kept: list[Grant] = []
        room = _GRANTED_BYTES
        for grant in reversed([*known, *grants]):
            room -= grant.weight
            if room < 0 or len(kept) == _MOST_GRANTS:
                break  # what the oldest allowed is asked again
            kept.insert(0, grant)
        self._grants[session_id] = kept

    def grants(self, asked: WriteFile | CreateTerminal) -> list[Grant]:
        """Those that may cover this, the oldest first."""
        return [grant for grant in self._grants.get(asked.session_id, ()) if grant.is_for(asked)]

    def allows_all_writes(self, session_id: str) -> bool:
        """Whether the user has said so."""
        return session_id in self._all_writes

    def forget_all_writes(self) -> None:
        """Ask again about each, in all sessions."""
        self._all_writes.clear()

    def turn_ended(self, session_id: str) -> None:
        """What was allowed in it is used up."""
        self._grants.pop(session_id, None)


def told_by(asked: PermissionRequest) -> list[Told]:
    """What a permission that the agent asks for would allow: the files that its call would write, else its command.

    Where the call tells two directories or files under different names, nobody can say which one was meant.
    """
    match asked.subject:
        case CommandSubject(command=command, cwd=cwd):
            return [_told_command(command, cwd)]
        case ToolCallSubject(call=call):
            files = sorted(_written(call))
            return [Told(place=path) for path in files] if files else _run(call)
        case _:
            return []


def _written(call: ToolCallPatch) -> set[str]:
    diffs = [item for item in call.content or () if isinstance(item, Diff)]
    named = {change.path for diff in diffs for change in diff.changes if change.operation != "delete"}
    if call.kind == "edit":
        named.update(place.path for place in call.locations or ())
    raw = members(call.raw_input)
    paths = {raw[name] for name in PATHS if isinstance(raw.get(name), str)}
    tells_text = call.kind in ("other", "execute", None, UNSET) and any(
        isinstance(raw.get(name), str) for name in TEXTS
    )
    return named | paths if len(paths) == 1 and (call.kind == "edit" or tells_text) else named


def _run(call: ToolCallPatch) -> list[Told]:
    raw = members(call.raw_input)
    directories = {str(raw[name]) for name in DIRECTORIES if raw.get(name) is not None}
    command, env = command_told(raw), _variables(raw.get("env"))
    if command is None and call.kind == "execute" and call.title:
        command = _in_ticks(call.title)
    if command is None or env is None or len(directories) > 1:
        return []
    return [_told_command(command, next(iter(directories), ""), env)]


def command_told(raw_input: Any) -> str | list[str] | None:
    """The command in a tool call's raw input, where agents mostly put it: a line, or its words."""
    raw = members(raw_input)
    for name in COMMANDS:
        found = raw.get(name)
        if isinstance(found, list):
            return [str(word) for word in cast("list[Any]", found)]
        if isinstance(found, str):
            more: Any = raw.get("args")
            words = cast("list[Any]", more) if isinstance(more, list) else []
            return [found, *words] if words and all(isinstance(word, str) for word in words) else found
    return None


def members(value: Any) -> dict[str, Any]:
    """Those of an object; of anything else none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _told_command(command: str | list[str], place: str, env: dict[str, str] | None = None) -> Told:
    line = shlex.join(command) if isinstance(command, list) else command
    return Told(place, line, inner_line(command), env or {})


def _variables(told: Any) -> dict[str, str] | None:
    """Those that a tool call tells; None if that can't be understood."""
    pairs: list[Any] = []
    if isinstance(told, dict):
        pairs = list(members(told).items())
    elif isinstance(told, list):
        entries = [members(entry) for entry in cast("list[Any]", told)]
        pairs = [(entry.get("name"), entry.get("value")) for entry in entries]
    elif told is not None:
        return None
    env = {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}
    return env if len(env) == len(pairs) else None


def _in_ticks(title: str) -> str:
    """A command line without the signs for code that some put around it."""
    inside = title[1:-1]
    return inside if title[:1] == title[-1:] == "`" and inside and "`" not in inside else title


def _line(asked: CreateTerminal) -> str:
    """As a user would type it."""
    env = [f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in asked.env.items()]
    return " ".join([*env, shown(asked)])


def inner_line(command: str | Sequence[str]) -> str | None:
    """The line in one shell, where the command, given as a line or in words, is nothing else; None if it is not that."""
    words = _words(command) if isinstance(command, str) else command
    if len(words) != 3 or words[1] not in ("-c", "-lc") or not _is_shell(words[0]):
        return None
    return words[2]


def _without_cd(line: str, cwd: str | None) -> str:
    """The line after a `cd` to the directory that it is started in anyway, which some agents write before all lines."""
    if cwd is not None and cwd.startswith("/"):
        for quoted in (shlex.quote(cwd), "'" + cwd.replace("'", "'\\''") + "'"):
            if line.startswith(f"cd {quoted} && "):
                return line.removeprefix(f"cd {quoted} && ")
    return line


def _is_quiet(name: str, value: str) -> bool:
    """Whether a variable changes at most how a command looks, and whether it asks something."""
    return _QUIET.get(name) == value or (name == "SHELL" and value.startswith("/") and _is_shell(value))


def _words(line: str) -> list[str]:
    """Those of a line that means nothing but its words: no variable, nothing that a shell would do."""
    found = _SHELL_LINE.fullmatch(line)
    return [] if found is None else [found[1], found[2], found[3] if found[4] is None else found[4]]


def _is_shell(program: str) -> bool:
    """Not whatever the agent has put somewhere under the name of one."""
    name, place = PurePath(program).name, str(PurePath(program).parent)
    return name in _SHELLS and (program == name or place in _SYSTEM or program == shutil.which(name))
