"""Everything that is approved with a yes: the details of a permission request in their order, and as lines of text.

Law: nothing is left out, cut or folded. What one detail shows in full, no other repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

import msgspec

from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.tool_input import (
    DiffTexts,
    command_line,
    file_type_text,
    full_texts,
    is_only_command,
    is_patch_of,
    remaining_input,
    remaining_names,
    value_text,
)
from accord.session.content import render_text
from accord.session.diffs import diff_text, read_git_patch
from accord.session.entities import ContentItem, Diff, FileChange, TerminalItem, ToolCallItem
from accord.session.requests import CommandSubject, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch


class DiffDetail(msgspec.Struct, frozen=True):
    """A change of files."""

    diff: Diff


class DiffRest(msgspec.Struct, frozen=True):
    """What the drawing of the diff leaves out: unknown operations, a patch that is not a diff."""

    diff: Diff


class CommandDetail(msgspec.Struct, frozen=True):
    """The command line as it would run."""

    command: str


class DirectoryDetail(msgspec.Struct, frozen=True):
    """Where the command would run."""

    path: str


class NameDetail(msgspec.Struct, frozen=True):
    """Another name of the action, after what it is."""

    what: str
    name: str


class TextDetail(msgspec.Struct, frozen=True):
    """A text of the agent, as written."""

    text: str


class PlaceDetail(msgspec.Struct, frozen=True):
    """A file that no diff names."""

    path: str
    line: int | None


class TerminalDetail(msgspec.Struct, frozen=True):
    """A terminal, by its id."""

    id: str


class ValueDetail(msgspec.Struct, frozen=True):
    """A value of any type, below its name."""

    name: str
    value: Any


Detail: TypeAlias = (
    DiffDetail
    | DiffRest
    | CommandDetail
    | DirectoryDetail
    | NameDetail
    | TextDetail
    | PlaceDetail
    | TerminalDetail
    | ValueDetail
)


class ShownDiffs(msgspec.Struct, frozen=True):
    """What the diffs of a tool call show: the paths that they name, and their texts."""

    paths: set[str]
    files: list[DiffTexts]


def permission_details(request: PermissionRequest, head: str, cwd: str, shown: ShownDiffs) -> Iterator[Detail]:
    """The details that the heading `head` does not show. `shown` is what the diffs will show."""
    subject = request.subject
    if isinstance(subject, ToolCallSubject):
        yield from _action(subject.call)
    for what, name in remaining_names(request, head):
        yield NameDetail(what, name)
    if request.description:
        yield TextDetail(request.description)
    match subject:
        case ToolCallSubject(call=call):
            yield from _rest_of_call(call, request.title, cwd, shown)
        case CommandSubject():
            yield CommandDetail(subject.command)
            yield DirectoryDetail(subject.cwd)
        case None:
            pass
        case _:
            yield ValueDetail(subject.tag, subject.raw)


def diffs_of(request: PermissionRequest) -> list[Diff]:
    """The changes of files in the request."""
    subject = request.subject
    content = subject.call.content if isinstance(subject, ToolCallSubject) else None
    return [item for item in content or () if isinstance(item, Diff)]


def _action(call: ToolCallPatch) -> Iterator[Detail]:
    """What would be done: the diffs and the command."""
    for item in call.content or ():
        if isinstance(item, Diff):
            yield DiffDetail(item)
    command = command_line(call.raw_input)
    if command is not None:
        yield CommandDetail(command)


def _rest_of_call(call: ToolCallPatch, title: str | None, cwd: str, shown: ShownDiffs) -> Iterator[Detail]:
    """Everything else about a tool call."""
    content, places, command = call.content or [], call.locations or [], command_line(call.raw_input)
    for place in places:
        if place.path not in shown.paths:
            yield PlaceDetail(place.path, place.line)
    for item in content:
        if not (isinstance(item, ContentItem) and is_only_command(render_text([item.content]), command)):
            yield _item(item)
    texts = [render_text([item.content]) for item in content if isinstance(item, ContentItem)]
    rest = remaining_input(
        call.raw_input or None,
        cwd,
        paths=shown.paths | {place.path for place in places},
        texts=[*texts, title or "", call.title or ""],
        files=shown.files,
        is_patch=partial(is_patch_of, content, cwd),
    )
    if rest is not None:
        yield ValueDetail("input", rest)


def _item(item: ToolCallItem) -> Detail:
    match item:
        case ContentItem():
            return TextDetail(render_text([item.content]))
        case TerminalItem():
            return TerminalDetail(item.terminal_id)
        case Diff():
            return DiffRest(item)
        case _:
            return ValueDetail(item.tag, item.raw)


def detail_lines(request: PermissionRequest, head: str, cwd: str) -> list[str]:
    """The details as lines of text."""
    diffs = diffs_of(request)
    paths = {path for diff in diffs for change in diff.changes for path in (change.path, change.old_path) if path}
    shown = ShownDiffs(paths, list(_shown_texts(diffs)))
    return [line for detail in permission_details(request, head, cwd, shown) for line in _lines(detail, head)]


def _lines(detail: Detail, head: str) -> list[str]:
    match detail:
        case DiffDetail(diff):
            changes = [line for change in diff.changes for line in _change_lines(change)]
            return [*changes, *exact(diff_text(diff), tab="    ").splitlines()]
        case DiffRest():
            return []  # the lines above leave nothing out
        case CommandDetail(command):
            return _indented(command, "  $ ")
        case DirectoryDetail(path):
            return [] if head.endswith(f" in {exact_line(path)}") else _indented(path, "  in ")
        case NameDetail(what, name):
            return _indented(name, f"  {what}: ")
        case TextDetail(text):
            return _indented(text, "  ")
        case PlaceDetail(path, line):
            return [f"  at {exact_line(path)}" + (f":{line}" if line else "")]
        case TerminalDetail(id):
            return [f"  terminal {exact_line(id)}"]
        case ValueDetail(name, value):
            return _value_lines(name, value)


def _change_lines(change: FileChange) -> list[str]:
    before = "" if change.old_path is None else f"{exact_line(change.old_path)} → "
    kind = file_type_text(change)
    after = f" ({exact_line(kind)})" if kind else ""
    line = f"  {exact_line(change.operation)} {before}{exact_line(change.path)}{after}"
    return [line, *([] if change.raw is None else _value_lines(change.operation, change.raw))]


def _shown_texts(diffs: Iterable[Diff]) -> Iterator[DiffTexts]:
    """The texts that the diffs show as they are printed."""
    for diff in diffs:
        for file in read_git_patch(diff_text(diff)):
            yield DiffTexts(file.path, [file.old_text or ""], [file.new_text or ""])
        if diff.patch is None:  # else that is printed, not the texts
            for change in diff.changes:
                yield DiffTexts(change.path, [], [], *full_texts(change))


def _value_lines(name: str, value: object) -> list[str]:
    return [f"  {exact_line(name)}:", *_indented(value_text(value), "    ")]


def _indented(text: str, sign: str) -> list[str]:
    first, *more = exact(text).splitlines() or [""]
    return [f"{sign}{first}", *(f"{' ' * len(sign)}{line}" for line in more)]
