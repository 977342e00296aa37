"""A permission request in full: nothing that the agent said of what it would do is left out or folded away."""

from __future__ import annotations

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.blocks.messages import shown
from accord.apps.console.screen.blocks.tool_calls import ICONS, command_of, raw_text
from accord.apps.console.screen.drawing.diffs import file_diffs
from accord.apps.console.screen.drawing.drawn_diffs import draw_diff, figures
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.markdown import draw_markdown
from accord.apps.console.screen.drawing.places import short_path
from accord.session.entities import ContentItem
from accord.session.requests import CommandSubject, RequestPermission, ToolCallSubject
from accord.session.updates import ToolCallPatch

__all__ = ["draw_permission", "kind_and_title", "reach_of_always"]


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


def draw_permission(asked: RequestPermission, cwd: str, ink: Ink) -> list[Strip]:
    """What would be done."""
    strips: list[Strip] = []
    if asked.description:
        strips += draw_markdown(visible(asked.description), ink)
    match asked.subject:
        case ToolCallSubject(call=call):
            strips += _tool_call(call, cwd, ink)
        case CommandSubject():
            strips += _command(asked.subject.command, asked.subject.cwd, cwd, ink)
        case None:
            pass
        case _:
            strips += raw_text(one_line(asked.subject.tag), asked.subject.raw, ink)
    return strips


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


def _tool_call(call: ToolCallPatch, cwd: str, ink: Ink) -> list[Strip]:
    palette = ink.palette
    strips: list[Strip] = []
    content = call.content or []
    diffs = file_diffs(content)
    told = {diff.path for diff in diffs}
    for place in call.locations or ():
        if place.path not in told:
            line = "" if place.line is None else f":{place.line}"
            strips += ink.folded(Text(f"{one_line(short_path(place.path, cwd), 1000)}{line}", palette.muted))
    command = command_of(call.raw_input)
    if command is not None:
        strips += _command(command, None, cwd, ink)
    for item in content:
        if isinstance(item, ContentItem):
            strips += draw_markdown(visible(shown(item.content)), ink)
    for diff in diffs:
        name = Text(f"{one_line(short_path(diff.path, cwd), 1000)}  ", palette.heading)
        what = "" if diff.operation == "modify" else f"  {one_line(diff.operation)}"
        strips += ink.folded(name.append_text(figures(diff.added, diff.removed, palette)).append(what, palette.muted))
        strips += draw_diff(diff, ink)
    if command is None and not content:
        strips += raw_text("input", call.raw_input or None, ink)
    return strips


def _command(command: str, directory: str | None, cwd: str, ink: Ink) -> list[Strip]:
    lines = visible(command).split("\n")
    strips = [
        strip
        for place, line in enumerate(lines)
        for strip in ink.folded(Text.assemble(("$ " if place == 0 else "  ", ink.palette.accent), line))
    ]
    if directory is not None and directory != cwd:
        strips += ink.folded(Text(f"in {one_line(directory, 1000)}", ink.palette.muted))
    return strips
