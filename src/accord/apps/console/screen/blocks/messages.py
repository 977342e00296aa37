"""Messages: what the user asked, what the agent said, and what it thought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.text import Text as RichText
from textual.strip import Strip

from accord.apps.console.sanitizer import Cleaner, one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented
from accord.apps.console.screen.drawing.incremental_text import GrowingLines, GrowingText
from accord.apps.console.screen.drawing.markdown_stream import StreamedMarkdown
from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import Draw, Part
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

__all__ = ["AgentMessage", "Thought", "UserMessage", "shown"]

READING = 120
"""What the agent says has lines of at most so many cells."""


def shown(block: Content) -> str:
    """A block of content in a word or two; a text is itself."""
    match block:
        case Text():
            return block.text
        case Image() | Audio():
            return f"[{one_line(block.mime_type)}, {_size(len(block.data) * 3 // 4 - block.data[-2:].count('='))}]"
        case ResourceLink():
            return f"[{one_line(block.title or block.name)}]"
        case Resource():
            size = len(block.text if block.text is not None else block.blob or "")
            return f"[{one_line(block.uri.rpartition('/')[2] or block.uri)}, {_size(size)}]"
        case _:
            return f"[{one_line(block.tag)}]"


def _size(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


class UserMessage(Block):
    """What the user sent; attachments by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.not_accepted = False
        self._content: list[Content] = []

    def mark(self, *, not_accepted: bool) -> None:
        """Say whether the agent did not take it."""
        self.not_accepted = not_accepted
        self.touch()

    def replace(self, content: Iterable[Content]) -> None:
        self._content = list(content)
        self.touch()

    def append(self, block: Content) -> None:
        self._content.append(block)
        self.touch()

    @property
    def _text(self) -> str:
        return "".join(block.text for block in self._content if type(block) is Text).strip("\n")

    @property
    def _others(self) -> str:
        return " ".join(shown(block) for block in self._content if type(block) is not Text)

    def plain(self) -> str:
        return "\n".join(filter(None, [self._text, self._others]))

    def compose(self, ink: Ink) -> Sequence[Part]:
        parts = GrowingLines(_wrapped, _barred, visible(self._text)).parts
        others = visible(self._others)
        parts = [*parts, *GrowingLines(_wrapped_muted, _barred, others).parts]
        return [*parts, Part(_barred(_not_accepted), 1)] if self.not_accepted else parts


def _wrapped(text: str, ink: Ink) -> list[Strip]:
    return ink.wrapped(RichText(text))


def _wrapped_muted(text: str, ink: Ink) -> list[Strip]:
    return ink.wrapped(RichText(text, ink.palette.muted))


def _not_accepted(ink: Ink) -> list[Strip]:
    return ink.wrapped(RichText("not accepted", ink.palette.warning))


def _barred(draw: Draw) -> Draw:
    def drawn(ink: Ink) -> list[Strip]:
        palette, width = ink.palette, ink.width - INDENT - 1
        bar, end = Segment("▌ ", palette.user + palette.accent), Segment(" ", palette.user)
        return [
            Strip([bar, *strip.apply_style(palette.user).adjust_cell_length(width, palette.user), end])
            for strip in draw(ink.narrower(INDENT + 1))
        ]

    return drawn


def _readable(draw: Draw) -> Draw:
    return lambda ink: indented(draw(ink.narrower(INDENT + 1).at_most(READING)))


class AgentMessage(Block):
    """What the agent says: Markdown that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.replace(())

    def replace(self, content: Iterable[Content]) -> None:
        self._page, self._cleaner = self._new_page(), Cleaner()
        self._said: list[str] = []
        if not (self.can_fold and self.is_folded):
            self.known_parts = self._page.parts
        for block in content:
            self.append(block)
        self.touch()

    def append(self, block: Content) -> None:
        text = block.text if type(block) is Text else f"\n\n{shown(block)}\n\n"
        self._said.append(text)
        self._page.append(self._cleaner.clean(text))
        self.touch()

    def plain(self) -> str:
        return visible("".join(self._said)).strip("\n")

    def _new_page(self) -> GrowingText:
        return StreamedMarkdown(frame=_readable)

    def compose(self, ink: Ink) -> Sequence[Part]:
        return self._page.parts


class Thought(AgentMessage):
    """What the agent thinks, folded to its first line."""

    can_fold = True

    def _new_page(self) -> GrowingText:
        return GrowingLines(_thought, _with_line)

    def compose(self, ink: Ink) -> Sequence[Part]:
        if self.is_folded:
            return [Part(self.draw, 1, self.plain)]
        return [Part(_thought_head), *self._page.parts]

    def draw(self, ink: Ink) -> list[Strip]:
        """Folded."""
        palette = ink.palette
        begin = self._page.parts[0].text().strip() if self._page.parts else ""
        first, _, others = begin.partition("\n")
        more = " …" if others or len(self._page.parts) > 1 else ""
        line = RichText.assemble(("✻ ", palette.accent), (one_line(first.strip("*# "), 500) + more, palette.thought))
        return indented([ink.narrower(INDENT).clipped(line)])


def _thought(text: str, ink: Ink) -> list[Strip]:
    return ink.wrapped(RichText(text, ink.palette.thought))


def _thought_head(ink: Ink) -> list[Strip]:
    head = RichText.assemble(("✻ ", ink.palette.accent), ("Thought", ink.palette.thought))
    return indented([ink.strip(head)])


def _with_line(draw: Draw) -> Draw:
    return lambda ink: indented(indented(draw(ink.narrower(INDENT + 3).at_most(READING)), 2, ink.palette.faint, "│ "))
