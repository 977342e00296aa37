"""Tool calls: a line that says what and how far; unfolded, all that is known of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented
from accord.apps.console.screen.blocks.messages import shown
from accord.apps.console.screen.drawing.diffs import FileDiff, file_diffs
from accord.apps.console.screen.drawing.drawn_diffs import draw_diff, figures
from accord.apps.console.screen.drawing.ink import Ink, Palette
from accord.apps.console.screen.drawing.markdown import draw_markdown
from accord.apps.console.screen.drawing.places import short_path
from accord.apps.console.screen.drawing.terminals import draw_terminal, exit_text
from accord.session.content import Text as TextContent
from accord.session.entities import ContentItem, Diff, Terminal, TerminalItem, ToolCall

__all__ = ["ICONS", "ToolCallBlock", "command_of", "raw_text"]

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
_PREVIEW_DIFF, _PREVIEW_TERMINAL, _PREVIEW_FAILURE = 8, 4, 4
_MOST_LINES = 2000
_MOST_RAW = 20_000

FindTerminal = Callable[[str], Terminal | None]


def status_mark(status: str, palette: Palette) -> tuple[str, Style]:
    """One sign for how far it is."""
    match status:
        case "completed":
            return "✓", palette.good
        case "failed":
            return "✗", palette.bad
        case "cancelled":
            return "⊘", palette.muted
        case "in_progress":
            return "◐", palette.warning
        case _:
            return "○", palette.muted


class ToolCallBlock(Block):
    """One tool call as it is now."""

    can_fold = True

    def __init__(self, call: ToolCall, cwd: str, terminal: FindTerminal) -> None:
        super().__init__()
        self.call = call
        self.is_asked_about = False
        """Whether the permission bar shows it in full, so that a preview would only say it twice."""
        self._cwd = cwd
        self._terminal = terminal
        self._diffs: tuple[object, list[FileDiff]] | None = None

    def show(self, call: ToolCall) -> None:
        self.call = call
        self.touch()

    @property
    def diffs(self) -> list[FileDiff]:
        """The changed files, compared once for each content."""
        content = self.call.content
        if self._diffs is None or self._diffs[0] is not content:
            self._diffs = (content, file_diffs(content) if any(isinstance(item, Diff) for item in content) else [])
        return self._diffs[1]

    @property
    def terminals(self) -> list[Terminal]:
        found = [self._terminal(item.terminal_id) for item in self.call.content if isinstance(item, TerminalItem)]
        return [terminal for terminal in found if terminal is not None]

    def plain(self) -> str:
        text = [
            item.content.text
            for item in self.call.content
            if isinstance(item, ContentItem) and isinstance(item.content, TextContent)
        ]
        output = [terminal.text for terminal in self.terminals]
        return visible("\n".join([self.call.title or self.call.name or "", *text, *output])).strip()

    def draw(self, ink: Ink) -> list[Strip]:
        inner = ink.narrower(INDENT + 4)
        body = self._preview(inner) if self.is_folded else self._body(inner)
        if len(body) > _MOST_LINES:
            left = len(body) - _MOST_LINES
            body = [*body[:_MOST_LINES], inner.strip(Text(f"… {left} more lines", ink.palette.muted))]
        return [self._header(ink), *indented(body, INDENT + 2)]

    def _header(self, ink: Ink) -> Strip:
        palette, call = ink.palette, self.call
        mark, style = status_mark(call.status, palette)
        title = one_line(call.title or call.name or call.id)
        left = Text.assemble(
            (f"{mark} ", style), (f"{ICONS.get(call.kind, '•')} ", palette.muted), (title, palette.text)
        )
        right = self._facts(title, palette)
        room = ink.width - INDENT - 1
        if right.cell_len > room // 2:
            right.truncate(room // 2, overflow="ellipsis")
        left.truncate(max(10, room - right.cell_len - 2), overflow="ellipsis")
        if right:
            left.append("  ").append_text(right)
        return Strip([Segment(" " * INDENT), *ink.strip(left)])

    def _facts(self, title: str, palette: Palette) -> Text:
        facts: list[Text] = []
        places = [
            f"{short_path(place.path, self._cwd)}{'' if place.line is None else f':{place.line}'}"
            for place in self.call.locations
        ]
        untold = [place for place in places if place.partition(":")[0] not in title]
        if untold:
            more = f" +{len(untold) - 1}" if len(untold) > 1 else ""
            facts.append(Text(one_line(untold[0]) + more, palette.muted))
        if self.diffs:
            facts.append(figures(sum(d.added for d in self.diffs), sum(d.removed for d in self.diffs), palette))
        facts += [exit_text(terminal.exit, palette) for terminal in self.terminals if terminal.exit is not None]
        return Text("  ").join(facts)

    def _preview(self, ink: Ink) -> list[Strip]:
        strips: list[Strip] = []
        if self.is_asked_about:
            return strips
        for diff in self.diffs:
            if len(self.diffs) > 1:
                strips.append(_file_line(diff, ink, self._cwd))
            lines = draw_diff(diff, ink, most=_PREVIEW_DIFF + 1)
            strips += lines[:_PREVIEW_DIFF]
            if len(lines) > _PREVIEW_DIFF:
                strips.append(ink.strip(Text("…", ink.palette.muted)))
        for terminal in self.terminals:
            if terminal.exit is None:
                strips += draw_terminal(terminal, ink, _PREVIEW_TERMINAL, self._cwd)
        if self.call.status == "failed" and not strips:
            strips += self._texts(ink)[:_PREVIEW_FAILURE]
        return strips

    def _body(self, ink: Ink) -> list[Strip]:
        strips: list[Strip] = []
        call, palette = self.call, ink.palette
        for place in call.locations:
            line = "" if place.line is None else f":{place.line}"
            strips.append(ink.clipped(Text(f"{one_line(short_path(place.path, self._cwd))}{line}", palette.muted)))
        if not call.content:
            strips += raw_text("input", call.raw_input, ink) + raw_text("output", call.raw_output, ink)
        strips += self._texts(ink)
        for diff in self.diffs:
            strips += [_file_line(diff, ink, self._cwd), *draw_diff(diff, ink)]
        for terminal in self.terminals:
            strips += draw_terminal(terminal, ink, 500, self._cwd)
        if call.dropped:
            strips.append(ink.strip(Text("its content was dropped to keep within the memory limit", palette.muted)))
        return strips or [ink.strip(Text("nothing more is known of it", palette.muted))]

    def _texts(self, ink: Ink) -> list[Strip]:
        strips: list[Strip] = []
        for item in self.call.content:
            if isinstance(item, ContentItem):
                strips += draw_markdown(visible(shown(item.content)), ink)
            elif not isinstance(item, Diff | TerminalItem):
                strips += raw_text(one_line(item.tag), item.raw, ink)
        return strips


def _file_line(diff: FileDiff, ink: Ink, cwd: str) -> Strip:
    moved = "" if diff.old_path is None else f"{one_line(short_path(diff.old_path, cwd))} → "
    name = Text(f"{moved}{one_line(short_path(diff.path, cwd))}  ", ink.palette.heading)
    what = "" if diff.operation == "modify" else f"  {one_line(diff.operation)}"
    return ink.clipped(name.append_text(figures(diff.added, diff.removed, ink.palette)).append(what, ink.palette.muted))


def raw_text(name: str, value: Any, ink: Ink) -> list[Strip]:
    """A value that the protocol leaves open, as JSON."""
    if value is None:
        return []
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    cut = visible(text[:_MOST_RAW])
    lines = [strip for line in cut.split("\n") for strip in ink.folded(Text(line, ink.palette.muted))]
    return [ink.strip(Text(f"{name}:", ink.palette.faint)), *lines]


def command_of(raw_input: Any) -> str | None:
    """The command line in a tool call's raw input, where agents mostly put it."""
    if not isinstance(raw_input, dict):
        return None
    for name in ("command", "cmd"):
        found: Any = raw_input.get(name)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            return " ".join(map(str, found))  # pyright: ignore[reportUnknownArgumentType]
    return None
