"""A permission request in full: nothing that the agent said of what it would do is left out or folded away."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.given import command_of, untold_input, untold_names
from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.blocks.messages import shown
from accord.apps.console.screen.blocks.tool_calls import ICONS
from accord.apps.console.screen.drawing.diffs import FileDiff, file_diffs
from accord.apps.console.screen.drawing.drawn_diffs import diff_parts, file_heading
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.inputs import any_tells, command_parts, named_parts, open_value
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.places import short_path
from accord.apps.console.screen.drawing.streaming import StreamedMarkdown
from accord.session.entities import ContentItem, Diff, TerminalItem, ToolCallItem
from accord.session.requests import CommandSubject, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch
from accord.session.word import Unknown

__all__ = ["kind_and_title", "permission_parts", "reach_of_always"]


def kind_and_title(asked: RequestPermission) -> tuple[str, str]:
    """The icon and name of what would be done, and what the agent calls it."""
    subject = asked.subject
    if isinstance(subject, ToolCallSubject):
        kind = subject.call.kind or "other"
        title = asked.title or subject.call.title or subject.call.name or subject.call.id
    else:
        kind = "execute" if isinstance(subject, CommandSubject) else "other"
        title = asked.title or (subject.command if isinstance(subject, CommandSubject) else "something")
    return f"{ICONS.get(kind, '•')} {one_line(kind)}", one_line(title, 400)


def permission_parts(asked: RequestPermission, cwd: str, ink: Ink) -> Iterator[Part]:
    """What would be done, by every name that the agent has for it."""
    for what, name in untold_names(asked, kind_and_title(asked)[1]):
        yield from named_parts(what, name)
    if asked.description:
        yield from StreamedMarkdown(visible(asked.description)).parts
    match asked.subject:
        case ToolCallSubject(call=call):
            yield from _tool_call(call, asked.title, cwd, ink)
        case CommandSubject(command=command, cwd=directory):
            yield from command_parts(command)
            if directory != cwd:
                yield Part(partial(_muted, f"in {one_line(directory, 4096)}"))
        case None:
            pass
        case _:
            yield from open_value(one_line(asked.subject.tag), asked.subject.raw)


def reach_of_always(asked: RequestPermission) -> str:
    """What choosing it for good covers: the agent's part is the agent's, ours is exact."""
    subject = asked.subject
    if isinstance(subject, CommandSubject):
        what = "exactly this command here"
    elif isinstance(subject, ToolCallSubject) and (subject.call.title or subject.call.raw_input):
        what = "exactly this"
    else:
        return "always: as far as the agent makes it reach"
    return f"always: {what}, in this session; the agent may make it reach further"


def _tool_call(call: ToolCallPatch, title: str | None, cwd: str, ink: Ink) -> Iterator[Part]:
    content = call.content or []
    diffs = file_diffs(content)
    in_diffs = {path for diff in diffs for path in (diff.path, diff.old_path) if path is not None}
    places = call.locations or []
    for place in places:
        if place.path not in in_diffs:
            line = "" if place.line is None else f":{place.line}"
            yield Part(partial(_muted, f"{one_line(short_path(place.path, cwd), 4096)}{line}"))
    command = command_of(call.raw_input)
    if command is not None:
        yield from command_parts(command)
    texts = [shown(item.content) for item in content if isinstance(item, ContentItem)]
    untold = untold_input(
        call.raw_input or None,
        cwd,
        paths=in_diffs | {place.path for place in places},
        texts=[*texts, title or "", call.title or ""],
        is_in_diffs=partial(any_tells, diffs),
    )
    yield from open_value("input", untold)
    for item in content:
        yield from _item(item)
    for diff in diffs:
        yield Part(partial(_file, diff, cwd))
        yield from diff_parts(diff, ink.width)


def _item(item: ToolCallItem) -> Iterator[Part]:
    match item:
        case ContentItem():
            yield from StreamedMarkdown(visible(shown(item.content))).parts
        case TerminalItem():
            yield Part(partial(_muted, f"terminal {one_line(item.terminal_id)}"))
        case Unknown():
            yield from open_value(one_line(item.tag), item.raw)
        case Diff():
            pass


def _file(diff: FileDiff, cwd: str, ink: Ink) -> list[Strip]:
    return ink.folded(file_heading(diff, cwd, ink.palette))


def _muted(text: str, ink: Ink) -> list[Strip]:
    return ink.folded(Text(text, ink.palette.muted))
