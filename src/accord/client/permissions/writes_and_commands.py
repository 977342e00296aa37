"""Permission for the writes and commands that agents of v1 request of their client.

Law: a permission that the agent has requested itself covers one use, in its session, while its tool call is open: a write
to each file that it named, or the command that it named, in the same directory with the same variables. Two commands are
the same if their text is equal, after removing at most one `sh -c` or `bash -lc` around them, and from the line inside one
`cd` to the directory that the command starts in; nothing is expanded. Variables that only turn off colours and questions
make no difference. The user is asked about everything else.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct

from accord.client.workspace.terminals import command_line
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

_ONCE = PermissionOption(id="allow", name="Allow", kind="allow_once")
_ALWAYS = PermissionOption(id="allow_always", name="Allow all writes in this session", kind="allow_always")
_NO = PermissionOption(id="reject", name="Reject", kind="reject_once")
_GRANT_LIMIT = 1000
_GRANT_BYTES = 4 * 1024 * 1024
_SHELLS = ("sh", "bash")
_SYSTEM = ("/bin", "/usr/bin")
_QUIET = {"NO_COLOR": "1", "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0"}
_SHELL_LINE = re.compile(r"""([\w/.-]+) (-l?c) (?:'([^']*)'|"([^"$`\\!]*)")""")

# Usual names of tool arguments.
COMMANDS = ("command", "cmd")
DIRECTORIES = ("cwd", "directory", "workdir")
PATHS = ("path", "file_path", "filePath", "filepath", "abs_path", "absolute_path", "relative_path", "relativePath")
TEXTS = (
    *("content", "file_text", "before", "after", "old_text", "new_text", "oldText", "newText"),
    *("old_string", "new_string", "oldString", "newString", "old_str", "new_str"),
)


def write_permission_request(request: WriteFile, old_text: str | None) -> PermissionRequest:
    """The question whether a file may be written; its tool call has no id, because the agent has given none."""
    operation = "add" if old_text is None else "modify"
    change = FileChange(operation=operation, path=request.path, old_text=old_text, new_text=request.content)
    call = ToolCallPatch(
        id="",
        title=f"Write {request.path}",
        kind="edit",
        locations=[Location(path=request.path)],
        content=[Diff(changes=[change])],
    )
    return PermissionRequest(
        session_id=request.session_id,
        options=[_ONCE, _ALWAYS, _NO],
        title=call.title or None,
        subject=ToolCallSubject(call=call),
    )


def command_permission_request(request: CreateTerminal, cwd: str) -> PermissionRequest:
    """The question whether a command may be run, with the variables that are set for it."""
    line = _line(request)
    return PermissionRequest(
        session_id=request.session_id,
        options=[_ONCE, _NO],
        title=f"Run {line}",
        subject=CommandSubject(command=line, cwd=cwd),
    )


def allows(request: PermissionRequest, answer: PermissionAnswer) -> bool:
    """Whether the answer is a yes."""
    chosen = [option for option in request.options if option.id == answer.option_id]
    return answer.outcome == "selected" and bool(chosen) and all(each.kind.startswith("allow") for each in chosen)


def allows_all_writes(request: PermissionRequest) -> bool:
    """Whether its `allow_always` is ours: for all writes of the session, not for this file alone."""
    return _ALWAYS in request.options


class Action(Struct, frozen=True):
    """What a permission names: a file to write or, with `command`, a command line and the directory to run it in.

    `path` is as the agent gave it; a relative one starts at the session's directory.
    """

    path: str
    command: str | None = None
    inner: str | None = None
    """The line inside the command, if that is one `sh -c` or `bash -lc`."""
    env: Mapping[str, str] = {}

    def is_command_of(self, request: CreateTerminal) -> bool:
        """Whether the requested command is this one, after removing at most one shell around either of them."""
        env = {name: value for name, value in request.env.items() if name in self.env or not _is_quiet(name, value)}
        if env == self.env:
            words = [request.command, *request.args] if request.args else request.command
            whole, inner = command_line(request), None if env else inner_line(words)
        elif not self.env and (request.args or shlex.quote(request.command) == request.command):
            whole, inner = _line(request), None
        else:  # a variable before a line of several commands is set for the first of them only
            return False
        return whole in (self.command, self.inner) or (
            inner is not None and self.command in (inner, _without_cd(inner, request.cwd))
        )


class Grant:
    """One use of what a permission names, while the tool call that it was requested for is open."""

    def __init__(self, action: Action, real_path: str, is_open: Callable[[], bool]) -> None:
        self.action = action
        self.real_path = real_path
        """Where the action's path led when it was allowed."""
        self.is_open = is_open
        self._is_used = False

    @property
    def weight(self) -> int:
        """The memory that it takes, in bytes."""
        return weigh(self.action) + len(self.real_path)

    def use(self) -> bool:
        """True the first time, False from then on."""
        was_used, self._is_used = self._is_used, True
        return not was_used

    def is_for(self, request: WriteFile | CreateTerminal) -> bool:
        """Whether it covers this request, provided that the path is the same."""
        if self._is_used or not self.is_open():
            return False
        if isinstance(request, WriteFile):
            return self.action.command is None
        return self.action.command is not None and self.action.is_command_of(request)


class GrantRegistry:
    """What the user has allowed, by session: single uses until the turn ends, all writes until they are forgotten."""

    def __init__(self) -> None:
        self._grants: dict[str, list[Grant]] = {}
        self._all_writes: set[str] = set()

    def note(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        """A question was answered: our `allow_always` counts from now on."""
        if allows(request, answer) and answer.option_id == _ALWAYS.id and _ALWAYS in request.options:
            self._all_writes.add(request.session_id)

    def add(self, session_id: str, grants: Iterable[Grant]) -> None:
        """Allow one use of each."""
        known = [grant for grant in self._grants.get(session_id, ()) if grant.is_open()]
        newest: list[Grant] = []
        room = _GRANT_BYTES
        for grant in reversed([*known, *grants]):
            room -= grant.weight
            if room < 0 or len(newest) == _GRANT_LIMIT:
                break  # the user is asked again about the oldest
            newest.insert(0, grant)
        self._grants[session_id] = newest

    def find(self, request: WriteFile | CreateTerminal) -> list[Grant]:
        """The grants that may cover the request, the oldest first."""
        return [grant for grant in self._grants.get(request.session_id, ()) if grant.is_for(request)]

    def allows_all_writes(self, session_id: str) -> bool:
        """Whether the user has allowed all writes of the session."""
        return session_id in self._all_writes

    def forget_all_writes(self) -> None:
        """Ask about each write again, in all sessions."""
        self._all_writes.clear()

    def turn_ended(self, session_id: str) -> None:
        """The grants of the turn expire."""
        self._grants.pop(session_id, None)


def actions_of(request: PermissionRequest) -> list[Action]:
    """What a permission would allow: the files that its tool call would write, else the command that it would run.

    Empty where the call names two directories or files in different members: it is unclear which one is meant.
    """
    match request.subject:
        case CommandSubject(command=command, cwd=cwd):
            return [_command_action(command, cwd)]
        case ToolCallSubject(call=call):
            files = sorted(_written_files(call))
            return [Action(path=path) for path in files] if files else _command_of(call)
        case _:
            return []


def _written_files(call: ToolCallPatch) -> set[str]:
    diffs = [item for item in call.content or () if isinstance(item, Diff)]
    named = {change.path for diff in diffs for change in diff.changes if change.operation != "delete"}
    if call.kind == "edit":
        named.update(location.path for location in call.locations or ())
    raw = members(call.raw_input)
    paths = {raw[name] for name in PATHS if isinstance(raw.get(name), str)}
    has_text = call.kind in ("other", "execute", None, UNSET) and any(isinstance(raw.get(name), str) for name in TEXTS)
    return named | paths if len(paths) == 1 and (call.kind == "edit" or has_text) else named


def _command_of(call: ToolCallPatch) -> list[Action]:
    raw = members(call.raw_input)
    directories = {str(raw[name]) for name in DIRECTORIES if raw.get(name) is not None}
    command, env = raw_command(raw), _variables(raw.get("env"))
    if command is None and call.kind == "execute" and call.title:
        command = _without_backticks(call.title)
    if command is None or env is None or len(directories) > 1:
        return []
    return [_command_action(command, next(iter(directories), ""), env)]


def raw_command(raw_input: Any) -> str | list[str] | None:
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
    """The members of a JSON object; none for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _command_action(command: str | list[str], directory: str, env: dict[str, str] | None = None) -> Action:
    line = shlex.join(command) if isinstance(command, list) else command
    return Action(directory, line, inner_line(command), env or {})


def _variables(env: Any) -> dict[str, str] | None:
    """The environment variables in a tool call's raw input; None if they are malformed."""
    pairs: list[Any] = []
    if isinstance(env, dict):
        pairs = list(members(env).items())
    elif isinstance(env, list):
        entries = [members(entry) for entry in cast("list[Any]", env)]
        pairs = [(entry.get("name"), entry.get("value")) for entry in entries]
    elif env is not None:
        return None
    variables = {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, str)}
    return variables if len(variables) == len(pairs) else None


def _without_backticks(title: str) -> str:
    """A command line without the backticks that some agents put around it."""
    inside = title[1:-1]
    return inside if title[:1] == title[-1:] == "`" and inside and "`" not in inside else title


def _line(request: CreateTerminal) -> str:
    """The command with its variables, as a user would type it."""
    env = [f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in request.env.items()]
    return " ".join([*env, command_line(request)])


def inner_line(command: str | Sequence[str]) -> str | None:
    """The line inside a command that is one `sh -c` or `bash -lc` and nothing else; None for any other command."""
    words = _words(command) if isinstance(command, str) else command
    if len(words) != 3 or words[1] not in ("-c", "-lc") or not _is_shell(words[0]):
        return None
    return words[2]


def _without_cd(line: str, cwd: str | None) -> str:
    """The line without a leading `cd` to the directory that it starts in anyway, as some agents write it."""
    if cwd is not None and cwd.startswith("/"):
        for quoted in (shlex.quote(cwd), "'" + cwd.replace("'", "'\\''") + "'"):
            if line.startswith(f"cd {quoted} && "):
                return line.removeprefix(f"cd {quoted} && ")
    return line


def _is_quiet(name: str, value: str) -> bool:
    """Whether a variable only turns off colours and questions."""
    return _QUIET.get(name) == value or (name == "SHELL" and value.startswith("/") and _is_shell(value))


def _words(line: str) -> list[str]:
    """The words of a line that has no variables and nothing else that a shell would expand; else none."""
    found = _SHELL_LINE.fullmatch(line)
    return [] if found is None else [found[1], found[2], found[3] if found[4] is None else found[4]]


def _is_shell(program: str) -> bool:
    """Whether this is a shell of the system, and not a program of the agent with the same name."""
    name, directory = PurePath(program).name, str(PurePath(program).parent)
    return name in _SHELLS and (program == name or directory in _SYSTEM or program == shutil.which(name))
