"""A tool's input and names, before they are drawn or printed.

Law: what is not told beside it is told by it, and nothing of that is cut. A text is told by a diff only if it is the whole of a side
of that very file, or all that is shown of it, or, where it stands for a piece, a piece of what is shown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from accord.apps.console.file_changes import absolute_path, short_path
from accord.apps.console.sanitizer import exact, exact_line, one_line
from accord.client.permissions.writes_and_commands import (
    COMMANDS,
    DIRECTORIES,
    PATHS,
    TEXTS,
    inner_line,
    members,
    raw_command,
)
from accord.session.diffs import texts_after_patch
from accord.session.entities import Diff, FileChange, ToolCall, ToolCallItem
from accord.session.requests import CommandSubject, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch

# What tools mostly call their arguments. Another name only means that something is said twice.
_PATCHES = ("diff", "patch", "unified_diff", "unifiedDiff")
_SEVERAL = ("files", "changes", "edits", "diffs")
"""Where some have one entry for each file, or for each place in it."""
_OF_FILES = ("read", "edit", "delete", "move")
_SOURCES = ("source", "from", "old_path", "oldPath", "source_path", "sourcePath")
_DESTINATIONS = ("destination", "to", "new_path", "newPath", "destination_path", "destinationPath")
_OLD_TEXTS = ("before", "old_text", "oldText", "old_string", "oldString", "old_str")
_WHOLE_TEXTS = ("before", "after", "content", "file_text")
"""Those that are all of a file; the others are pieces of it."""
_FENCED = re.compile(r"(`{3,})(?:sh|bash|shell|console)?\n(.*)\n\1", re.DOTALL)
_PATHLIKE = re.compile(r"[./]")
_SHORT = 100
_LONGEST_GLANCED = 10_000
_SHORT_KIND = 40


def command_line(raw_input: Any) -> str | None:
    """The command line in a tool call's raw input, where agents mostly put it; its words quoted as a shell wants it."""
    told = raw_command(raw_input)
    return shlex.join(told) if isinstance(told, list) else told


class DiffTexts(NamedTuple):
    """A file as a diff shows it: stretches of both sides, and their whole texts where those are known."""

    path: str
    olds: Sequence[str]
    news: Sequence[str]
    old_text: str | None = None
    new_text: str | None = None


def remaining_input(
    raw_input: Any,
    cwd: str,
    *,
    paths: Collection[str],
    texts: Collection[str],
    files: Sequence[DiffTexts] = (),
    is_patch: Callable[[str], bool] = lambda text: False,
) -> Any:
    """All of it but the command, and what the paths, texts and diffs beside it say in full; None if that is nothing.

    `is_patch` is for text that is a patch: whether it makes the diffs that are shown, and nothing else.
    """
    if not isinstance(raw_input, dict):
        return raw_input
    taken = _names_of_command(raw_input)

    def is_told(name: str, value: str, path: str | None) -> bool:
        meant = [file for file in files if path is None or absolute_path(file.path, cwd) == path]
        return (
            (name in DIRECTORIES and absolute_path(value, cwd) == absolute_path(cwd, cwd))
            or (name in PATHS and absolute_path(value, cwd) in paths)
            or (name in TEXTS and any(shows_text(file, name, value) for file in meant))
            or (name in _PATCHES and is_patch(value))
            or (name == "description" and value in texts)
        )

    def path_in(name: str, value: Any) -> str | None:
        """The file that a member, or what is in it, is about."""
        if name in PATHS and isinstance(value, str):
            return absolute_path(value, cwd)
        return absolute_path(name, cwd) if isinstance(value, dict) and absolute_path(name, cwd) in paths else None

    left = {name: value for name, value in members(raw_input).items() if name not in taken}
    return _Untold(is_told, path_in).of(left, None) or None


def _names_of_command(raw_input: Any) -> tuple[str, ...]:
    """The members that `command_line` tells."""
    raw = members(raw_input)
    name = next((name for name in COMMANDS if isinstance(raw.get(name), str | list)), None)
    if name is None:
        return ()
    has_words = isinstance(raw[name], str) and isinstance(raw_command(raw), list)
    return (name, "args") if has_words else (name,)


class _Untold:
    """What is left of an input when all is taken away that is told."""

    def __init__(
        self, is_told: Callable[[str, str, str | None], bool], path_in: Callable[[str, Any], str | None]
    ) -> None:
        self._is_told = is_told
        self._path_in = path_in

    def of(self, raw: Mapping[str, Any], path: str | None) -> dict[str, Any]:
        """The members that are not told, nor made of such alone where their name says no more than that there are several."""
        named = [self._path_in(name, value) for name, value in raw.items() if isinstance(value, str)]
        path = next(filter(None, named), path)
        left = {name: self._rest(name, value, path) for name, value in raw.items()}
        return {name: rest for name, rest in left.items() if rest is not _NOTHING}

    def _rest(self, name: str, value: Any, path: str | None) -> Any:
        if isinstance(value, str):
            return _NOTHING if self._is_told(name, value, path) else value
        of_file = self._path_in(name, value)
        if not value or (name not in _SEVERAL and of_file is None):
            return value
        if isinstance(value, dict):
            return self.of(members(value), of_file or path) or _NOTHING
        if not isinstance(value, list):
            return value
        entries = [
            self.of(members(entry), path) if isinstance(entry, dict) else entry for entry in cast("list[Any]", value)
        ]
        return [entry for entry in entries if entry != {}] or _NOTHING


_NOTHING = object()


def is_patch_of(items: Iterable[ToolCallItem], cwd: str, text: str) -> bool:
    """Whether a patch does just what the diffs among these show, or one of them came with it."""
    diffs = [item for item in items if isinstance(item, Diff)]
    if any(diff.patch is not None and diff.patch.text == text for diff in diffs):
        return True
    shown = {
        absolute_path(change.path, cwd): change
        for diff in diffs
        for change in diff.changes
        if change.new_text is not None
    }

    def change_of(name: str) -> FileChange | None:
        return shown.get(absolute_path(name, cwd)) or shown.get(
            absolute_path(name[2:], cwd) if name[:2] in ("a/", "b/") else ""
        )

    def old_text(name: str) -> str | None:
        change = change_of(name)
        return None if change is None else change.old_text or ""

    after = texts_after_patch(text, old_text)
    if after is None:
        return False
    outcomes = {name: change_of(name) for name in after}
    return all(change is not None and change.new_text == after[name] for name, change in outcomes.items())


def shows_text(file: DiffTexts, name: str, text: str) -> bool:
    """Whether the diff of a file shows the text that an input has by this name: the side that it is about, not the other one.

    Whether the last line has an end is no matter.
    """
    whole, shown = (file.old_text, file.olds) if name in _OLD_TEXTS else (file.new_text, file.news)
    text = text.removesuffix("\n")
    if text in (each.removesuffix("\n") for each in (whole, "\n".join(shown) or None) if each is not None):
        return True
    return text != "" and name not in _WHOLE_TEXTS and any(text in each for each in shown)


def command_lines(raw_input: Any) -> list[str]:
    """The command line, and the one in the shell that it is, if it is that."""
    told = raw_command(raw_input)
    inner = None if told is None else inner_line(told)
    return [line for line in (command_line(raw_input), inner) if line is not None]


def remaining_action(call: ToolCall | ToolCallPatch, title: str, cwd: str) -> tuple[str | None, list[str]]:
    """The command that a call runs, or else the files that it is about, as far as the title does not tell them."""
    command, title = command_line(call.raw_input), _glanced(title)
    if command is not None:
        return None if _glanced(command) in title else command, []
    paths = dict.fromkeys(short_path(absolute_path(path, cwd), cwd) for path in affected_files(call))
    return None, [path for path in paths if _glanced(path) not in title]


def affected_files(call: ToolCall | ToolCallPatch) -> list[str]:
    """The files that it shows diffs of, and those that it names; else those among its arguments."""
    diffs = [item for item in call.content or () if isinstance(item, Diff)]
    named = [change.path for diff in diffs for change in diff.changes] + [place.path for place in call.locations or ()]
    return list(dict.fromkeys(named)) or _files_given(call)


def _files_given(call: ToolCall | ToolCallPatch) -> list[str]:
    raw = members(call.raw_input)
    if call.kind == "move":
        moved = [raw[name] for name in (*_SOURCES, *_DESTINATIONS) if isinstance(raw.get(name), str)]
        if len(moved) == 2:
            return moved
    if call.kind in _OF_FILES and (several := _several_given(raw)):
        return several
    paths = {raw[name] for name in PATHS if isinstance(raw.get(name), str)}
    is_about_files = call.kind in _OF_FILES or any(isinstance(raw.get(name), str) for name in TEXTS)
    return list(paths) if is_about_files and len(paths) == 1 else []


def _several_given(raw: Mapping[str, Any]) -> list[str]:
    """Those of an input with an entry for each file: under its path, or with its path in it."""
    found: list[str] = []
    for entries in (raw.get(name) for name in _SEVERAL):
        if isinstance(entries, dict):
            found += [
                name for name, each in members(entries).items() if isinstance(each, dict) and _PATHLIKE.search(name)
            ]
        elif isinstance(entries, list):
            for entry in map(members, cast("list[Any]", entries)):
                found += [entry[name] for name in PATHS if isinstance(entry.get(name), str)][:1]
    return list(dict.fromkeys(found))


def _glanced(text: str) -> str:
    return one_line(text, _LONGEST_GLANCED)


def is_only_command(text: str, command: str | None) -> bool:
    """Whether a text is the command in a block of code and nothing else, which then need not be said again."""
    found = _FENCED.fullmatch(text.strip("\n"))
    return command is not None and found is not None and found[2] == command


def remaining_names(request: PermissionRequest, head: str) -> Iterator[tuple[str, str]]:
    """Each name that the agent has for it and what that is the name of, unless the head or the command is just that."""
    told, names = {"", head}, [("title", request.title)]
    if isinstance(request.subject, CommandSubject):
        told |= {f"{sign}{exact(request.subject.command)}" for sign in ("", "Run ")}
    if isinstance(request.subject, ToolCallSubject):
        call = request.subject.call
        told.add(exact(command_line(call.raw_input) or ""))
        names += [("tool call", call.title or None), ("tool", call.name or None)]
        if exact_line(call.kind or "") != short_kind(call.kind or ""):
            names.append(("kind", call.kind or None))
    for what, name in names:
        text = exact(name or "")
        if text not in told:
            told.add(text)
            yield what, text


def short_kind(kind: str) -> str:
    """The kind of an action in a few letters, for the head of a question."""
    return exact_line(kind, _SHORT_KIND)


def file_type_text(change: FileChange) -> str:
    """What the agent says of it beside its text: that it is a link, or of which type."""
    return " ".join(each for each in (change.file_type, change.mime_type) if each not in (None, "text"))


def full_texts(change: FileChange) -> tuple[str | None, str | None]:
    """Both sides of a change, empty where there is no file; None if it does not tell them."""
    if change.old_text is None and change.new_text is None:
        return None, None
    return change.old_text or "", change.new_text or ""


def value_text(value: Any) -> str:
    """A value that the protocol leaves open: its members a line each, as JSON."""
    if isinstance(value, str):
        return exact(value)
    if isinstance(value, dict):
        return exact("\n".join(f"{_json(name)}: {_json(each)}" for name, each in members(value).items()))
    return exact(_json(value))


def _json(value: Any) -> str:
    short = msgspec.json.encode(value)
    return (short if len(short) <= _SHORT else msgspec.json.format(short, indent=2)).decode()
