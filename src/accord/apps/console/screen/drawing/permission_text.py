"""A permission request in full, and the raw input of a tool call. Law: nothing is left out, cut or folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.permission_details import (
    CommandDetail,
    Detail,
    DiffDetail,
    DiffRest,
    DirectoryDetail,
    NameDetail,
    PlaceDetail,
    ShownDiffs,
    TerminalDetail,
    TextDetail,
    ValueDetail,
    diffs_of,
    permission_details,
)
from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.screen.drawing.diffs import LONGEST_LINE, diff_parts, file_heading
from accord.apps.console.screen.drawing.hunks import FileDiff, Sign, file_diffs, unshown_patch
from accord.apps.console.screen.drawing.incremental_text import IncrementalLines
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Margin, Part, no_margin
from accord.apps.console.tool_input import DiffTexts, short_kind, value_text
from accord.session.entities import Diff
from accord.session.requests import CommandSubject, PermissionRequest, ToolCallSubject

ICONS = {
    "read": "≡",
    "edit": "✎",
    "delete": "✕",
    "move": "⇄",
    "search": "⌕",
    "execute": "$",
    "think": "✻",
    "fetch": "↓",
    "switch_mode": "⇥",
}
_LONGEST_TITLE = 400
"""In the heading; a longer title is shown in full below."""


def kind_and_title(request: PermissionRequest) -> tuple[str, str]:
    """The icon and name of the kind of action, and the agent's title for it."""
    subject = request.subject
    if isinstance(subject, ToolCallSubject):
        kind = subject.call.kind or "other"
        title = request.title or subject.call.title or subject.call.name or subject.call.id
    else:
        kind = "execute" if isinstance(subject, CommandSubject) else "other"
        title = request.title or (subject.command if isinstance(subject, CommandSubject) else "something")
    return f"{ICONS.get(kind, '•')} {short_kind(kind)}", exact_line(title, _LONGEST_TITLE)


def permission_parts(request: PermissionRequest, cwd: str, canvas: Canvas) -> Iterator[Part]:
    """The action, with every name that the agent has for it."""
    diffs = file_diffs(diffs_of(request))
    paths = {path for diff in diffs for path in (diff.path, diff.old_path) if path is not None}
    shown = ShownDiffs(paths, shown_files(diffs))
    for detail in permission_details(request, kind_and_title(request)[1], cwd, shown):
        yield from _parts(detail, cwd, canvas)


def _parts(detail: Detail, cwd: str, canvas: Canvas) -> Iterable[Part]:
    match detail:
        case DiffDetail(diff):
            return _diff_parts(diff, cwd, canvas)
        case DiffRest(diff):
            values = [(change.operation, change.raw) for change in diff.changes] + [("patch", unshown_patch(diff))]
            return [part for name, value in values for part in open_value(name, value)]
        case CommandDetail(command):
            return command_parts(command)
        case DirectoryDetail(path):
            return [] if path == cwd else [Part(partial(_muted, f"in {exact_line(path)}"))]
        case NameDetail(what, name):
            return named_parts(what, name)
        case TextDetail(text):
            return text_parts(text)
        case PlaceDetail(path, line):
            place = f"{exact_line(short_path(path, cwd))}{'' if line is None else f':{line}'}"
            return [Part(partial(_muted, place))]
        case TerminalDetail(id):
            return [Part(partial(_muted, f"terminal {exact_line(id)}"))]
        case ValueDetail(name, value):
            return open_value(name, value)


def _diff_parts(diff: Diff, cwd: str, canvas: Canvas) -> Iterator[Part]:
    for file in file_diffs([diff]):
        yield Part(partial(_file, file, cwd))
        yield from diff_parts(file, canvas)
        yield from _ends_of_lines(file)


def _ends_of_lines(diff: FileDiff) -> Iterator[Part]:
    """The ends of lines that are too long for a diff, which cuts them."""
    for line in (line for hunk in diff.hunks for line in hunk.lines if len(line.text) > LONGEST_LINE):
        yield from named_parts(f"{line.sign}{line.number} continued", line.text[LONGEST_LINE:])


def _file(diff: FileDiff, cwd: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(file_heading(diff, cwd, canvas.palette))


def _muted(text: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(Text(text, canvas.palette.muted))


def shown_files(diffs: Sequence[FileDiff]) -> list[DiffTexts]:
    """The text that the diffs show."""
    return [DiffTexts(diff.path, _sides(diff, "-"), _sides(diff, "+"), diff.old_text, diff.new_text) for diff in diffs]


def open_value(name: str, value: Any, margin: Margin = no_margin) -> list[Part]:
    """A value of any type, below its name."""
    if value is None:
        return []
    return [Part(margin(partial(_name, name))), *IncrementalLines(_lines, margin, value_text(value)).parts]


def named_parts(name: str, text: str) -> list[Part]:
    """A text after its name, without any formatting."""
    return list(IncrementalLines(_lines, text=_hanging(f"{name}: ", text)).parts)


def text_parts(text: str) -> list[Part]:
    """A text as the agent wrote it: rendered Markdown would hide some of it."""
    return list(IncrementalLines(_words, text=exact(text, tab="    ")).parts)


def command_parts(command: str, margin: Margin = no_margin) -> list[Part]:
    """The command line as it would run."""
    return list(IncrementalLines(_command_lines, margin, _hanging("$ ", command)).parts)


def _hanging(sign: str, text: str) -> str:
    return sign + exact(text).replace("\n", "\n" + " " * len(sign))


def _sides(diff: FileDiff, sign: Sign) -> list[str]:
    return ["\n".join(line.text for line in hunk.lines if line.sign in (" ", sign)) for hunk in diff.hunks]


def _name(name: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(Text(f"{exact_line(name)}:", canvas.palette.muted))


def _lines(text: str, canvas: Canvas) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in canvas.fold(Text(line, canvas.palette.muted))]


def _words(text: str, canvas: Canvas) -> list[Strip]:
    lines = [Text(line, canvas.palette.text) for line in text.split("\n")]
    return [canvas.strip(part) for line in lines for part in canvas.exact_lines(line)]


def _command_lines(text: str, canvas: Canvas) -> list[Strip]:
    lines = [Text.assemble((line[:2], canvas.palette.accent), line[2:]) for line in text.split("\n")]
    return [strip for line in lines for strip in canvas.fold(line)]
