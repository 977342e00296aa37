"""A permission request in full: nothing that the agent said of what it would do is left out or folded away."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.blocks.tool_calls import ICONS
from accord.apps.console.screen.drawing.diffs import (
    LONGEST_LINE,
    FileDiff,
    diff_parts,
    file_diffs,
    file_heading,
    untold_patch,
)
from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.raw_input import command_parts, named_parts, open_value, shown_files, text_parts
from accord.apps.console.tool_input import (
    command_of,
    is_only_command,
    is_patch_of,
    kind_line,
    untold_input,
    untold_names,
)
from accord.session.content import render_text
from accord.session.entities import ContentItem, Diff, TerminalItem, ToolCallItem
from accord.session.requests import CommandSubject, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.value import Unknown

__all__ = ["kind_and_title", "permission_parts"]

_LONGEST_TITLE = 400
"""In the head; a longer one is told whole below."""


def kind_and_title(asked: PermissionRequest) -> tuple[str, str]:
    """The icon and name of what would be done, and what the agent calls it."""
    subject = asked.subject
    if isinstance(subject, ToolCallSubject):
        kind = subject.call.kind or "other"
        title = asked.title or subject.call.title or subject.call.name or subject.call.id
    else:
        kind = "execute" if isinstance(subject, CommandSubject) else "other"
        title = asked.title or (subject.command if isinstance(subject, CommandSubject) else "something")
    return f"{ICONS.get(kind, '•')} {kind_line(kind)}", exact_line(title, _LONGEST_TITLE)


def permission_parts(asked: PermissionRequest, cwd: str, ink: Ink) -> Iterator[Part]:
    """What would be done, by every name that the agent has for it."""
    if isinstance(asked.subject, ToolCallSubject):
        yield from _action(asked.subject.call, cwd, ink)
    for what, name in untold_names(asked, kind_and_title(asked)[1]):
        yield from named_parts(what, name)
    if asked.description:
        yield from text_parts(asked.description)
    match asked.subject:
        case ToolCallSubject(call=call):
            yield from _tool_call(call, asked.title, cwd)
        case CommandSubject(command=command, cwd=directory):
            yield from command_parts(command)
            if directory != cwd:
                yield Part(partial(_muted, f"in {exact_line(directory)}"))
        case None:
            pass
        case _:
            yield from open_value(asked.subject.tag, asked.subject.raw)


def _action(call: ToolCallPatch, cwd: str, ink: Ink) -> Iterator[Part]:
    """What would be done, where that is told as it is: its diffs and its command."""
    for diff in file_diffs(call.content or []):
        yield Part(partial(_file, diff, cwd))
        yield from diff_parts(diff, ink.width)
        yield from _ends_of_lines(diff)
    command = command_of(call.raw_input)
    if command is not None:
        yield from command_parts(command)


def _tool_call(call: ToolCallPatch, title: str | None, cwd: str) -> Iterator[Part]:
    """All that is told of it beside that."""
    content = call.content or []
    diffs = file_diffs(content)
    in_diffs = {path for diff in diffs for path in (diff.path, diff.old_path) if path is not None}
    places = call.locations or []
    for place in places:
        if place.path not in in_diffs:
            line = "" if place.line is None else f":{place.line}"
            yield Part(partial(_muted, f"{exact_line(short_path(place.path, cwd))}{line}"))
    command = command_of(call.raw_input)
    texts = [render_text([item.content]) for item in content if isinstance(item, ContentItem)]
    untold = untold_input(
        call.raw_input or None,
        cwd,
        paths=in_diffs | {place.path for place in places},
        texts=[*texts, title or "", call.title or ""],
        files=shown_files(diffs),
        is_patch=partial(is_patch_of, content, cwd),
    )
    for item in content:
        if not (isinstance(item, ContentItem) and is_only_command(render_text([item.content]), command)):
            yield from _item(item)
    yield from open_value("input", untold)


def _item(item: ToolCallItem) -> Iterator[Part]:
    match item:
        case ContentItem():
            yield from text_parts(render_text([item.content]))
        case TerminalItem():
            yield Part(partial(_muted, f"terminal {exact_line(item.terminal_id)}"))
        case Unknown():
            yield from open_value(item.tag, item.raw)
        case Diff():
            for change in item.changes:
                yield from open_value(change.operation, change.raw)
            yield from open_value("patch", untold_patch(item))


def _ends_of_lines(diff: FileDiff) -> Iterator[Part]:
    """Of lines that a diff cuts, since nobody reads so far: here somebody may have to."""
    for line in (line for hunk in diff.hunks for line in hunk.lines if len(line.text) > LONGEST_LINE):
        yield from named_parts(f"{line.sign}{line.number} goes on", line.text[LONGEST_LINE:])


def _file(diff: FileDiff, cwd: str, ink: Ink) -> list[Strip]:
    return ink.folded(file_heading(diff, cwd, ink.palette))


def _muted(text: str, ink: Ink) -> list[Strip]:
    return ink.folded(Text(text, ink.palette.muted))
