"""Tool calls: one line with title and status; unfolded, everything known about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import merge_diffs, short_path
from accord.apps.console.sanitizer import exact_line, one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indent
from accord.apps.console.screen.blocks.messages import content_text
from accord.apps.console.screen.drawing.diffs import change_counts, diff_parts, draw_diff, file_heading
from accord.apps.console.screen.drawing.hunks import FileDiff, file_diffs
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Draw, Margin, Part, first_lines, no_margin
from accord.apps.console.screen.drawing.permission_text import ICONS, command_parts, open_value, shown_files
from accord.apps.console.screen.drawing.terminal_output import draw_terminal, exit_text, terminal_parts
from accord.apps.console.tool_input import command_line, command_lines, is_patch_of, remaining_action, remaining_input
from accord.session.content import Text as TextContent
from accord.session.entities import ContentItem, Diff, Terminal, TerminalItem, ToolCall
from accord.session.updates import ToolCallAppend, ToolCallPatch

_STATUSES = ("pending", "in_progress", "paused", "completed", "failed", "cancelled")
_PREVIEW_DIFF, _PREVIEW_TERMINAL, _PREVIEW_FAILURE = 8, 4, 4
_BODY_INDENT = INDENT + 4

FindTerminal = Callable[[str], Terminal | None]


def status_mark(call: ToolCall, palette: Palette) -> tuple[str, Style]:
    """A symbol for the status."""
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
    """A tool call in its current state."""

    can_fold = True

    def __init__(self, call: ToolCall, cwd: str, terminal: FindTerminal) -> None:
        super().__init__()
        self.call = call
        self.is_in_question = False
        """Whether the permission bar shows it in full, so that it needs no preview."""
        self.all_diffs: list[Diff] = [item for item in call.content if isinstance(item, Diff)]
        """The current diffs, and earlier ones that later content has left out. FN-105"""
        self._cwd = cwd
        self._terminal = terminal
        self._diffs: tuple[object, list[FileDiff]] | None = None

    def show(self, call: ToolCall, patch: ToolCallPatch | ToolCallAppend) -> None:
        self.call = call
        self.all_diffs = merge_diffs(self.all_diffs, patch)
        self.invalidate()

    @property
    def diffs(self) -> list[FileDiff]:
        """The changed files. Compares their texts once for each content."""
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

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        if self.is_folded:
            return super().compose(canvas)
        return [Part(lambda canvas: [self._header(canvas)], 1), *self._body(canvas)]

    def draw(self, canvas: Canvas) -> list[Strip]:
        """Draw the header and a preview, for a folded call."""
        return [self._header(canvas), *_body_margin(self._preview)(canvas)]

    def _header(self, canvas: Canvas) -> Strip:
        palette, call = canvas.palette, self.call
        mark, style = status_mark(call, palette)
        title = one_line(call.title or call.name or call.id)
        left = Text.assemble(
            (f"{mark} ", style), (f"{ICONS.get(call.kind, '•')} ", palette.muted), (title, palette.text)
        )
        right = self._facts(title, palette)
        room = canvas.width - INDENT - 1
        if right.cell_len > room // 2:
            right.truncate(room // 2, overflow="ellipsis")
        left.truncate(max(10, room - right.cell_len - 2), overflow="ellipsis")
        if right:
            left.append("  ").append_text(right)
        return Strip([Segment(" " * INDENT), *canvas.strip(left)])

    def _facts(self, title: str, palette: Palette) -> Text:
        facts = [] if self.call.status in _STATUSES else [Text(one_line(self.call.status, 40), palette.muted)]
        if self.call.ended_without_result:
            facts = [Text("ended without a result", palette.muted)]
        locations = self.call.locations
        files = [
            f"{short_path(each.path, self._cwd)}{'' if each.line is None else f':{each.line}'}" for each in locations
        ]
        known = {each.path for each in locations}
        files += [short_path(diff.path, self._cwd) for diff in self.diffs if diff.path not in known]
        files = [file for file in files if file.partition(":")[0] not in title]
        if files:
            more = f" +{len(files) - 1}" if len(files) > 1 else ""
            facts.append(Text(one_line(files[0]) + more, palette.muted))
        if self.diffs:
            facts.append(change_counts(sum(d.added for d in self.diffs), sum(d.removed for d in self.diffs), palette))
        facts += [exit_text(terminal.exit, palette) for terminal in self.terminals if terminal.exit is not None]
        return Text("  ").join(facts)

    def _preview(self, canvas: Canvas) -> list[Strip]:
        strips: list[Strip] = []
        if self.is_in_question:
            return strips
        strips += self._command(canvas)
        for diff in self.diffs:
            if len(self.diffs) > 1:
                strips += _file_lines(diff, self._cwd, canvas)
            lines = draw_diff(diff, canvas, most=_PREVIEW_DIFF + 1)
            strips += lines[:_PREVIEW_DIFF]
            if len(lines) > _PREVIEW_DIFF:
                strips.append(canvas.strip(Text("…", canvas.palette.muted)))
        for terminal in self.terminals:
            if terminal.exit is None:
                strips += draw_terminal(terminal, canvas, _PREVIEW_TERMINAL, self._cwd)
        if self.call.status == "failed" and not strips:
            strips += first_lines(self._texts(), canvas, _PREVIEW_FAILURE)
        return strips

    def _command(self, canvas: Canvas) -> list[Strip]:
        """Its command in one line, unless the title or a terminal below shows it."""
        call = self.call
        command = remaining_action(call, call.title or call.name or call.id, self._cwd)[0]
        if command_line(call.raw_input) is None:
            commands = [each.command for each in self.terminals if each.command and each.exit is not None]
            command = next((each for each in commands if one_line(each) not in one_line(call.title or "")), None)
        is_below = any(each.exit is None and each.command in command_lines(call.raw_input) for each in self.terminals)
        if command is None or is_below:
            return []
        line = Text.assemble(("$ ", canvas.palette.accent), (exact_line(command, 500), canvas.palette.muted))
        return [canvas.clip(line)]

    def _body(self, canvas: Canvas) -> list[Part]:
        call, cwd = self.call, self._cwd
        parts = [Part(_body_margin(self._locations), len(call.locations))] if call.locations else []
        parts += self._input()
        if not call.content:
            parts += open_value("output", call.raw_output, _body_margin)
        parts += self._texts(_body_margin)
        for diff in self.diffs:
            parts.append(Part(_body_margin(partial(_file_lines, diff, cwd))))
            parts += diff_parts(diff, canvas, _body_margin)
        for terminal in self.terminals:
            parts += terminal_parts(terminal, 500, cwd, _body_margin)
        if call.dropped:
            parts.append(Part(_body_margin(partial(_note, "its content was dropped to stay within the memory limit"))))
        return parts or [Part(_body_margin(partial(_note, "no further details")))]

    def _input(self) -> list[Part]:
        """The raw input, without what is shown elsewhere."""
        call = self.call
        command = command_line(call.raw_input)
        is_shown = command is None or any(terminal.command == command for terminal in self.terminals)
        in_diffs = [path for diff in self.diffs for path in (diff.path, diff.old_path) if path is not None]
        contents = [content_text(item.content) for item in call.content if isinstance(item, ContentItem)]
        rest = remaining_input(
            call.raw_input,
            self._cwd,
            paths=[*in_diffs, *(location.path for location in call.locations)],
            texts=[call.title or "", *contents],
            files=shown_files(self.diffs),
            is_patch=partial(is_patch_of, call.content, self._cwd),
        )
        parts = [] if command is None or is_shown else command_parts(command, _body_margin)
        return [*parts, *open_value("input", rest, _body_margin)]

    def _locations(self, canvas: Canvas) -> list[Strip]:
        lines = [
            exact_line(short_path(each.path, self._cwd)) + ("" if each.line is None else f":{each.line}")
            for each in self.call.locations
        ]
        return [canvas.clip(Text(line, canvas.palette.muted)) for line in lines]

    def _texts(self, margin: Margin = no_margin) -> list[Part]:
        from accord.apps.console.screen.drawing.markdown_stream import MarkdownStream  # noqa: PLC0415  # slow to load

        parts: list[Part] = []
        for item in self.call.content:
            if isinstance(item, ContentItem):
                parts += MarkdownStream(visible(content_text(item.content)), margin).parts
            elif not isinstance(item, Diff | TerminalItem):
                parts += open_value(item.tag, item.raw, margin)
        return parts


def _body_margin(draw: Draw) -> Draw:
    return lambda canvas: indent(draw(canvas.narrower(_BODY_INDENT)), INDENT + 2)


def _note(text: str, canvas: Canvas) -> list[Strip]:
    return [canvas.strip(Text(text, canvas.palette.muted))]


def _file_lines(diff: FileDiff, cwd: str, canvas: Canvas) -> list[Strip]:
    return [canvas.clip(file_heading(diff, cwd, canvas.palette))]
