"""Blocks beside the messages and tool calls: notes, errors, notices, compactions, unknown updates, terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indent, left_margin
from accord.apps.console.screen.drawing.incremental_text import IncrementalLines
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.permission_text import open_value
from accord.apps.console.screen.drawing.terminal_output import draw_output, exit_text, output_parts, terminal_parts
from accord.session.content import render_text
from accord.session.entities import Compaction, Exit, Notice, Terminal

_LINES_FOLDED, _LINES_UNFOLDED = 20, 1000


class NoteBlock(Block):
    """A note of the screen itself, centred."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def plain(self) -> str:
        return self._text

    def draw(self, canvas: Canvas) -> list[Strip]:
        text = one_line(self._text, 500)
        rule = max(2, (canvas.width - len(text) - 4) // 2) if len(text) < canvas.width - 8 else 0
        line = Text.assemble(("─" * rule, canvas.palette.faint), f" {text} ", ("─" * rule, canvas.palette.faint))
        line.style = canvas.palette.muted
        return canvas.wrap(line) if rule else indent(canvas.narrower(INDENT + 1).wrap(Text(text, line.style)))


class ErrorBlock(Block):
    """An error: what happened, the output of the program that failed, and what to do."""

    def __init__(self, title: str, advice: str = "", output: str = "") -> None:
        super().__init__()
        self.title = title
        self.advice = advice
        self.output = output

    def plain(self) -> str:
        return visible("\n".join(filter(None, [self.title, self.output, self.advice])))

    def draw(self, canvas: Canvas) -> list[Strip]:
        palette, inner = canvas.palette, canvas.narrower(INDENT + 2)
        strips = inner.wrap(Text(visible(self.title), palette.bad + Style(bold=True)))
        if self.output.strip():
            strips += draw_output(self.output.encode("utf-8", "replace"), inner, 15)
        if self.advice:
            strips += inner.wrap(Text(self.advice, palette.text))
        bar = Segment("▌ ", palette.bad)
        return [Strip([bar, *strip]) for strip in strips]


class NoticeBlock(Block):
    """A notice of the agent."""

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self._notice = notice

    def plain(self) -> str:
        return visible(f"{self._notice.title}\n{self._notice.description or ''}").strip()

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        title = IncrementalLines(self._draw_title, text=visible(self._notice.title).strip()).parts
        details = IncrementalLines(_muted, left_margin(INDENT + 2), visible(self._notice.description or "")).parts
        return [*title, *details] or super().compose(canvas)

    def draw(self, canvas: Canvas) -> list[Strip]:
        return self._draw_title("", canvas)

    def _draw_title(self, text: str, canvas: Canvas) -> list[Strip]:
        style = {"error": canvas.palette.bad, "warning": canvas.palette.warning}.get(
            self._notice.severity, canvas.palette.accent
        )
        mark = {"error": "✗ ", "warning": "! "}.get(self._notice.severity, "i ")
        first, *others = canvas.narrower(INDENT + 3).wrap(Text(text, style)) or [Strip([])]
        head = Strip([Segment(" " * INDENT), Segment(mark, style), *first])
        return [head, *indent(others, INDENT + 2)]


def _muted(text: str, canvas: Canvas) -> list[Strip]:
    return canvas.wrap(Text(text, canvas.palette.muted))


class CompactionBlock(Block):
    """A compaction of the agent's context; unfolded, its summary."""

    can_fold = True

    def __init__(self, compaction: Compaction) -> None:
        super().__init__()
        self._compaction = compaction
        self._has_ended = False
        """The agent has stopped working without saying how the compaction ended."""

    def show(self, compaction: Compaction) -> None:
        self._compaction, self._has_ended = compaction, False
        self.invalidate()

    def end(self) -> bool:
        """The agent works no more; returns whether that changes what is shown."""
        is_news = self._compaction.status == "in_progress" and not self._has_ended
        self._has_ended = True
        if is_news:
            self.invalidate()
        return is_news

    def plain(self) -> str:
        return visible(render_text(self._compaction.summary))

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        head = super().compose(canvas)
        if self.is_folded:
            return head
        from accord.apps.console.screen.drawing.markdown_stream import MarkdownStream  # noqa: PLC0415  # slow to load

        return [*head, *MarkdownStream(self.plain(), left_margin(INDENT)).parts]

    def draw(self, canvas: Canvas) -> list[Strip]:
        compaction = self._compaction
        text = {
            "in_progress": "compaction of the context: no result" if self._has_ended else "compacting the context…",
            "completed": "the context was compacted",
            "failed": f"compacting the context failed: {one_line(compaction.error or 'no reason given')}",
        }.get(compaction.status, f"compaction: {one_line(compaction.status)}")
        return NoteBlock(text).draw(canvas)


class UnknownBlock(Block):
    """An update of an unknown kind: its tag and the names of its members; unfolded, all of it."""

    can_fold = True

    def __init__(self, tag: str, raw: dict[str, Any], what: str = "an update") -> None:
        super().__init__()
        self._tag, self._raw, self._what = tag, raw, what

    def show(self, tag: str, raw: dict[str, Any]) -> None:
        self._tag, self._raw = tag, raw
        self.invalidate()

    def plain(self) -> str:
        return visible(str(self._raw))

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        parts = super().compose(canvas)
        return parts if self.is_folded else [*parts, *open_value("content", self._raw, left_margin(INDENT + 2))]

    def draw(self, canvas: Canvas) -> list[Strip]:
        palette, inner = canvas.palette, canvas.narrower(INDENT + 3)
        members = ", ".join(one_line(name, 40) for name in self._raw if name != "sessionUpdate")
        head = Text.assemble(
            ("? ", palette.warning),
            (one_line(self._tag), palette.text),
            (f"  {self._what} that accord does not know", palette.muted),
            (f": {members}" if members else "", palette.muted),
        )
        return indent([inner.clip(head)])


class TerminalBlock(Block):
    """A terminal that no tool call shows."""

    can_fold = True

    def __init__(self, terminal: Terminal, cwd: str) -> None:
        super().__init__()
        self._terminal = terminal
        self._cwd = cwd

    def show(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.invalidate()

    def plain(self) -> str:
        return visible(f"$ {self._terminal.command or ''}\n{self._terminal.text}")

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        last = _LINES_FOLDED if self.is_folded else _LINES_UNFOLDED
        return list(terminal_parts(self._terminal, last, self._cwd, left_margin(INDENT)))


class ShellBlock(Block):
    """A command that the user ran with `!`. The agent does not see it."""

    can_fold = True

    def __init__(self, command: str) -> None:
        super().__init__()
        self.command = command
        self.exit: Exit | None = None
        self._output = bytearray()

    def add_output(self, data: bytes) -> None:
        self._output += data
        del self._output[: -256 * 1024]
        self.invalidate()

    def set_exit(self, status: Exit) -> None:
        self.exit = status
        self.invalidate()

    def plain(self) -> str:
        return visible(f"$ {self.command}\n{self._output.decode('utf-8', 'replace')}")

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        last = _LINES_FOLDED if self.is_folded else _LINES_UNFOLDED
        return [Part(self.draw, 1, self.plain), *output_parts(bytes(self._output), last, left_margin(INDENT))]

    def draw(self, canvas: Canvas) -> list[Strip]:
        """Draw the command and its exit status."""
        palette = canvas.palette
        head = Text.assemble(("! ", palette.accent), (one_line(self.command, 500), palette.text))
        if self.exit is not None:
            head.append("  ").append_text(exit_text(self.exit, palette))
        return indent([canvas.narrower(INDENT + 1).clip(head)])
