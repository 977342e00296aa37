"""What is not part of the talk: notices, compactions, failures, unknown updates, commands of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented, moved
from accord.apps.console.screen.drawing.incremental_text import GrowingLines
from accord.apps.console.screen.drawing.markdown_stream import StreamedMarkdown
from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.drawing.raw_input import open_value
from accord.apps.console.screen.drawing.terminal_output import draw_output, exit_text, output_parts, terminal_parts
from accord.session.content import render_text
from accord.session.entities import Compaction, Exit, Notice, Terminal

__all__ = ["CompactionBlock", "Failure", "NoticeBlock", "Remark", "ShellRun", "TerminalBlock", "UnknownBlock"]

_LINES_FOLDED, _LINES_UNFOLDED = 20, 1000


class Remark(Block):
    """A line of our own, in the middle of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def say(self, text: str) -> None:
        self._text = text
        self.touch()

    def plain(self) -> str:
        return self._text

    def draw(self, ink: Ink) -> list[Strip]:
        text = one_line(self._text, 500)
        rule = max(2, (ink.width - len(text) - 4) // 2) if len(text) < ink.width - 8 else 0
        line = Text.assemble(("─" * rule, ink.palette.faint), f" {text} ", ("─" * rule, ink.palette.faint))
        line.style = ink.palette.muted
        return ink.wrapped(line)


class Failure(Block):
    """Something went wrong: what, what to do, and the last words of whoever failed."""

    def __init__(self, title: str, advice: str = "", last_words: str = "") -> None:
        super().__init__()
        self.title = title
        self.advice = advice
        self.last_words = last_words

    def plain(self) -> str:
        return visible("\n".join(filter(None, [self.title, self.last_words, self.advice])))

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(INDENT + 2)
        strips = inner.wrapped(Text(visible(self.title), palette.bad + Style(bold=True)))
        if self.last_words.strip():
            strips += draw_output(self.last_words.encode("utf-8", "replace"), inner, 15)
        if self.advice:
            strips += inner.wrapped(Text(self.advice, palette.text))
        bar = Segment("▌ ", palette.bad)
        return [Strip([bar, *strip]) for strip in strips]


class NoticeBlock(Block):
    """A notice of the agent's."""

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self._notice = notice

    def plain(self) -> str:
        return visible(f"{self._notice.title}\n{self._notice.description or ''}").strip()

    def compose(self, ink: Ink) -> Sequence[Part]:
        title = GrowingLines(self._draw_title, text=visible(self._notice.title).strip()).parts
        about = GrowingLines(_muted, moved(INDENT + 2), visible(self._notice.description or "")).parts
        return [*title, *about] or super().compose(ink)

    def draw(self, ink: Ink) -> list[Strip]:
        return self._draw_title("", ink)

    def _draw_title(self, text: str, ink: Ink) -> list[Strip]:
        style = {"error": ink.palette.bad, "warning": ink.palette.warning}.get(
            self._notice.severity, ink.palette.accent
        )
        mark = {"error": "✗ ", "warning": "! "}.get(self._notice.severity, "i ")
        first, *others = ink.narrower(INDENT + 3).wrapped(Text(text, style)) or [Strip([])]
        head = Strip([Segment(" " * INDENT), Segment(mark, style), *first])
        return [head, *indented(others, INDENT + 2)]


def _muted(text: str, ink: Ink) -> list[Strip]:
    return ink.wrapped(Text(text, ink.palette.muted))


class CompactionBlock(Block):
    """The agent has shortened its memory; unfolded, what it kept."""

    can_fold = True

    def __init__(self, compaction: Compaction) -> None:
        super().__init__()
        self._compaction = compaction

    def show(self, compaction: Compaction) -> None:
        self._compaction = compaction
        self.touch()

    def plain(self) -> str:
        return visible(render_text(self._compaction.summary))

    def compose(self, ink: Ink) -> Sequence[Part]:
        head = super().compose(ink)
        return head if self.is_folded else [*head, *StreamedMarkdown(self.plain(), moved(INDENT)).parts]

    def draw(self, ink: Ink) -> list[Strip]:
        compaction = self._compaction
        what = {
            "in_progress": "compacting the context…",
            "completed": "the context was compacted",
            "failed": f"compacting the context failed: {one_line(compaction.error or 'no reason given')}",
        }.get(compaction.status, f"compaction: {one_line(compaction.status)}")
        return Remark(what).draw(ink)


class UnknownBlock(Block):
    """Something that accord has no word for: its tag and its members; unfolded, the whole."""

    can_fold = True

    def __init__(self, tag: str, raw: dict[str, Any], what: str = "an update") -> None:
        super().__init__()
        self._tag, self._raw, self._what = tag, raw, what

    def show(self, tag: str, raw: dict[str, Any]) -> None:
        self._tag, self._raw = tag, raw
        self.touch()

    def plain(self) -> str:
        return visible(str(self._raw))

    def compose(self, ink: Ink) -> Sequence[Part]:
        parts = super().compose(ink)
        return parts if self.is_folded else [*parts, *open_value("whole", self._raw, moved(INDENT + 2))]

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(INDENT + 3)
        members = ", ".join(one_line(name, 40) for name in self._raw if name != "sessionUpdate")
        head = Text.assemble(
            ("? ", palette.warning),
            (one_line(self._tag), palette.text),
            (f"  {self._what} that accord does not know", palette.muted),
            (f": {members}" if members else "", palette.muted),
        )
        return indented([inner.clipped(head)])


class TerminalBlock(Block):
    """A terminal that no tool call shows."""

    can_fold = True

    def __init__(self, terminal: Terminal, cwd: str) -> None:
        super().__init__()
        self._terminal = terminal
        self._cwd = cwd

    def show(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.touch()

    def plain(self) -> str:
        return visible(f"$ {self._terminal.command or ''}\n{self._terminal.text}")

    def compose(self, ink: Ink) -> Sequence[Part]:
        last = _LINES_FOLDED if self.is_folded else _LINES_UNFOLDED
        return list(terminal_parts(self._terminal, last, self._cwd, moved(INDENT)))


class ShellRun(Block):
    """A command that the user ran with `!`; the agent does not hear of it."""

    can_fold = True

    def __init__(self, command: str) -> None:
        super().__init__()
        self.command = command
        self.exit: Exit | None = None
        self._output = bytearray()

    def heard(self, piece: bytes) -> None:
        self._output += piece
        del self._output[: -256 * 1024]
        self.touch()

    def ended(self, how: Exit) -> None:
        self.exit = how
        self.touch()

    def plain(self) -> str:
        return visible(f"$ {self.command}\n{self._output.decode('utf-8', 'replace')}")

    def compose(self, ink: Ink) -> Sequence[Part]:
        last = _LINES_FOLDED if self.is_folded else _LINES_UNFOLDED
        return [Part(self.draw, 1, self.plain), *output_parts(bytes(self._output), last, moved(INDENT))]

    def draw(self, ink: Ink) -> list[Strip]:
        """The command."""
        palette = ink.palette
        head = Text.assemble(("! ", palette.accent), (one_line(self.command, 500), palette.text))
        if self.exit is not None:
            head.append("  ").append_text(exit_text(self.exit, palette))
        return indented([ink.narrower(INDENT + 1).clipped(head)])
