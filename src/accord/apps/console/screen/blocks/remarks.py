"""What is not part of the talk: notices, compactions, failures, unknown updates, commands of the user's own."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented
from accord.apps.console.screen.blocks.tool_calls import raw_text
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.markdown import draw_markdown
from accord.apps.console.screen.drawing.terminals import draw_output, exit_text
from accord.session.content import readable
from accord.session.entities import Compaction, Exit, Notice
from accord.session.updates import UnknownReport

__all__ = ["CompactionBlock", "Failure", "NoticeBlock", "Remark", "ShellRun", "UnknownBlock"]


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

    def draw(self, ink: Ink) -> list[Strip]:
        palette, notice = ink.palette, self._notice
        style = {"error": palette.bad, "warning": palette.warning}.get(notice.severity, palette.accent)
        inner = ink.narrower(INDENT + 3)
        strips = inner.wrapped(Text(visible(notice.title), style))
        if notice.description:
            strips += inner.wrapped(Text(visible(notice.description), palette.muted))
        mark = {"error": "✗ ", "warning": "! "}.get(notice.severity, "i ")
        first, *others = strips or [Strip([])]
        head = Strip([Segment(" " * INDENT), Segment(mark, style), *first])
        return [head, *indented(others, INDENT + 2)]


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
        return visible(readable(self._compaction.summary))

    def draw(self, ink: Ink) -> list[Strip]:
        compaction = self._compaction
        what = {
            "in_progress": "compacting the context…",
            "completed": "the context was compacted",
            "failed": f"compacting the context failed: {one_line(compaction.error or 'no reason given')}",
        }.get(compaction.status, f"compaction: {one_line(compaction.status)}")
        head = Remark(what).draw(ink)
        if self.is_folded:
            return head
        return [*head, *indented(draw_markdown(self.plain(), ink.narrower(INDENT + 1)))]


class UnknownBlock(Block):
    """An update that accord has no word for."""

    can_fold = True

    def __init__(self, report: UnknownReport) -> None:
        super().__init__()
        self._report = report

    def plain(self) -> str:
        return visible(str(self._report.raw))

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(INDENT + 3)
        members = ", ".join(one_line(name, 40) for name in self._report.raw if name != "sessionUpdate")
        head = Text.assemble(
            ("? ", palette.warning),
            (one_line(self._report.tag), palette.text),
            ("  an update that accord does not know", palette.muted),
            (f": {members}" if members else "", palette.muted),
        )
        strips = [inner.clipped(head)]
        if not self.is_folded:
            strips += indented(raw_text("whole", self._report.raw, inner.narrower(2)), 2)
        return indented(strips)


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

    def draw(self, ink: Ink) -> list[Strip]:
        palette, inner = ink.palette, ink.narrower(INDENT + 1)
        head = Text.assemble(("! ", palette.accent), (one_line(self.command, 500), palette.text))
        if self.exit is not None:
            head.append("  ").append_text(exit_text(self.exit, palette))
        last = 20 if self.is_folded else 1000
        return indented([inner.clipped(head), *draw_output(bytes(self._output), inner, last)])
