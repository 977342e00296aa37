"""Tool calls: a line that says what and how far; unfolded, all that is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import diffs_shown, short_path
from accord.apps.console.sanitizer import exact_line, one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented
from accord.apps.console.screen.blocks.messages import shown
from accord.apps.console.screen.drawing.diffs import FileDiff, diff_parts, draw_diff, figures, file_diffs, file_heading
from accord.apps.console.screen.drawing.markdown_stream import StreamedMarkdown
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Draw, Frame, Part, first_lines, unframed
from accord.apps.console.screen.drawing.raw_input import command_parts, open_value, shown_files
from accord.apps.console.screen.drawing.terminal_output import draw_terminal, exit_text, terminal_parts
from accord.apps.console.tool_input import command_lines, command_of, is_patch_of, untold_action, untold_input
from accord.session.content import Text as TextContent
from accord.session.entities import ContentItem, Diff, Terminal, TerminalItem, ToolCall
from accord.session.updates import ToolCallAppend, ToolCallPatch

__all__ = ["ICONS", "ToolCallBlock"]

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
_STATUSES = ("pending", "in_progress", "paused", "completed", "failed", "cancelled")
_PREVIEW_DIFF, _PREVIEW_TERMINAL, _PREVIEW_FAILURE = 8, 4, 4
_WITHIN = INDENT + 4

FindTerminal = Callable[[str], Terminal | None]


def status_mark(call: ToolCall, palette: Palette) -> tuple[str, Style]:
    """One sign for how far it is."""
    if call.ended_without_result:
        return "∅", palette.muted
    match call.status:
        case "completed":
            return "✓", palette.good
        case "failed":
            return "✗", palette.bad
        case "cancelled":
            return "⊘", palette.muted
        case "in_progress":
            return "◐", palette.warning
        case "paused":
            return "‖", palette.warning
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
        self.shown: list[Diff] = [item for item in call.content if isinstance(item, Diff)]
        """The diffs that it has, and those that it had until later content left them out. FN-105"""
        self._cwd = cwd
        self._terminal = terminal
        self._diffs: tuple[object, list[FileDiff]] | None = None

    def show(self, call: ToolCall, patch: ToolCallPatch | ToolCallAppend) -> None:
        self.call = call
        self.shown = diffs_shown(self.shown, patch)
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

    def compose(self, ink: Ink) -> Sequence[Part]:
        if self.is_folded:
            return super().compose(ink)
        return [Part(lambda ink: [self._header(ink)], 1), *self._body(ink)]

    def draw(self, ink: Ink) -> list[Strip]:
        """Folded."""
        return [self._header(ink), *_inside(self._preview)(ink)]

    def _header(self, ink: Ink) -> Strip:
        palette, call = ink.palette, self.call
        mark, style = status_mark(call, palette)
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
        facts = [] if self.call.status in _STATUSES else [Text(one_line(self.call.status, 40), palette.muted)]
        if self.call.ended_without_result:
            facts = [Text("ended without a result", palette.muted)]
        places = [
            f"{short_path(place.path, self._cwd)}{'' if place.line is None else f':{place.line}'}"
            for place in self.call.locations
        ]
        known = {place.path for place in self.call.locations}
        places += [short_path(diff.path, self._cwd) for diff in self.diffs if diff.path not in known]
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
        strips += self._command(ink)
        for diff in self.diffs:
            if len(self.diffs) > 1:
                strips += _file_lines(diff, self._cwd, ink)
            lines = draw_diff(diff, ink, most=_PREVIEW_DIFF + 1)
            strips += lines[:_PREVIEW_DIFF]
            if len(lines) > _PREVIEW_DIFF:
                strips.append(ink.strip(Text("…", ink.palette.muted)))
        for terminal in self.terminals:
            if terminal.exit is None:
                strips += draw_terminal(terminal, ink, _PREVIEW_TERMINAL, self._cwd)
        if self.call.status == "failed" and not strips:
            strips += first_lines(self._texts(), ink, _PREVIEW_FAILURE)
        return strips

    def _command(self, ink: Ink) -> list[Strip]:
        """What it runs, in a line, unless the title or a terminal that is shown below tells that."""
        call = self.call
        told = untold_action(call, call.title or call.name or call.id, self._cwd)[0]
        if command_of(call.raw_input) is None:
            commands = [each.command for each in self.terminals if each.command and each.exit is not None]
            told = next((each for each in commands if one_line(each) not in one_line(call.title or "")), None)
        is_below = any(each.exit is None and each.command in command_lines(call.raw_input) for each in self.terminals)
        if told is None or is_below:
            return []
        line = Text.assemble(("$ ", ink.palette.accent), (exact_line(told, 500), ink.palette.muted))
        return [ink.clipped(line)]

    def _body(self, ink: Ink) -> list[Part]:
        call, cwd = self.call, self._cwd
        parts = [Part(_inside(self._places), len(call.locations))] if call.locations else []
        parts += self._input()
        if not call.content:
            parts += open_value("output", call.raw_output, _inside)
        parts += self._texts(_inside)
        width = ink.width - _WITHIN
        for diff in self.diffs:
            parts.append(Part(_inside(partial(_file_lines, diff, cwd))))
            parts += diff_parts(diff, width, _inside)
        for terminal in self.terminals:
            parts += terminal_parts(terminal, 500, cwd, _inside)
        if call.dropped:
            parts.append(Part(_inside(partial(_remark, "its content was dropped to keep within the memory limit"))))
        return parts or [Part(_inside(partial(_remark, "nothing more is known of it")))]

    def _input(self) -> list[Part]:
        """What it was given, as far as nothing else tells it."""
        call = self.call
        command = command_of(call.raw_input)
        is_told = command is None or any(terminal.command == command for terminal in self.terminals)
        in_diffs = [path for diff in self.diffs for path in (diff.path, diff.old_path) if path is not None]
        untold = untold_input(
            call.raw_input,
            self._cwd,
            paths=[*in_diffs, *(place.path for place in call.locations)],
            texts=[call.title or "", *(shown(item.content) for item in call.content if isinstance(item, ContentItem))],
            files=shown_files(self.diffs),
            is_patch=partial(is_patch_of, call.content, self._cwd),
        )
        parts = [] if command is None or is_told else command_parts(command, _inside)
        return [*parts, *open_value("input", untold, _inside)]

    def _places(self, ink: Ink) -> list[Strip]:
        return [
            ink.clipped(
                Text(
                    exact_line(short_path(place.path, self._cwd)) + ("" if place.line is None else f":{place.line}"),
                    ink.palette.muted,
                )
            )
            for place in self.call.locations
        ]

    def _texts(self, frame: Frame = unframed) -> list[Part]:
        parts: list[Part] = []
        for item in self.call.content:
            if isinstance(item, ContentItem):
                parts += StreamedMarkdown(visible(shown(item.content)), frame).parts
            elif not isinstance(item, Diff | TerminalItem):
                parts += open_value(item.tag, item.raw, frame)
        return parts


def _inside(draw: Draw) -> Draw:
    return lambda ink: indented(draw(ink.narrower(_WITHIN)), INDENT + 2)


def _remark(text: str, ink: Ink) -> list[Strip]:
    return [ink.strip(Text(text, ink.palette.muted))]


def _file_lines(diff: FileDiff, cwd: str, ink: Ink) -> list[Strip]:
    return [ink.clipped(file_heading(diff, cwd, ink.palette))]
