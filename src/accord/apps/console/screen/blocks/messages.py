"""Messages: what the user asked, what the agent said, and what it thought."""

from __future__ import annotations

from collections.abc import Iterable

from rich.segment import Segment
from rich.text import Text as RichText
from textual.strip import Strip

from accord.apps.console.sanitising import Cleaner, one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indented
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.streaming import StreamedMarkdown
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

__all__ = ["AgentMessage", "Thought", "UserMessage", "shown"]


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
        self._content: list[Content] = []

    def replace(self, content: Iterable[Content]) -> None:
        self._content = list(content)
        self.touch()

    def append(self, block: Content) -> None:
        self._content.append(block)
        self.touch()

    def plain(self) -> str:
        text = "".join(block.text for block in self._content if type(block) is Text)
        others = [shown(block) for block in self._content if type(block) is not Text]
        return "\n".join(filter(None, [text.strip("\n"), " ".join(others)]))

    def draw(self, ink: Ink) -> list[Strip]:
        palette = ink.palette
        text = RichText(visible("".join(block.text for block in self._content if type(block) is Text)).strip("\n"))
        strips = ink.narrower(INDENT + 1).wrapped(text) if text else []
        others = [visible(shown(block)) for block in self._content if type(block) is not Text]
        if others:
            strips += ink.narrower(INDENT + 1).wrapped(RichText(" ".join(others), palette.muted))
        bar, end = Segment("▌ ", palette.user + palette.accent), Segment(" ", palette.user)
        width = ink.width - INDENT - 1
        return [
            Strip([bar, *strip.apply_style(palette.user).adjust_cell_length(width, palette.user), end])
            for strip in strips
        ]


class AgentMessage(Block):
    """What the agent says: Markdown that grows."""

    def __init__(self) -> None:
        super().__init__()
        self._page = StreamedMarkdown()
        self._cleaner = Cleaner()
        self._said: list[str] = []

    def append(self, block: Content) -> None:
        text = block.text if type(block) is Text else f"\n\n{shown(block)}\n\n"
        self._said.append(text)
        self._page.append(self._cleaner.clean(text))
        self.touch()

    def replace(self, content: Iterable[Content]) -> None:
        self._page, self._cleaner, self._said = StreamedMarkdown(), Cleaner(), []
        for block in content:
            self.append(block)
        self.touch()

    def plain(self) -> str:
        return visible("".join(self._said)).strip("\n")

    def forget(self) -> None:
        super().forget()
        self._page.forget()

    def draw(self, ink: Ink) -> list[Strip]:
        return indented(self._page.draw(ink.narrower(INDENT + 1)))


class Thought(AgentMessage):
    """What the agent thinks, folded to its first line."""

    can_fold = True

    def draw(self, ink: Ink) -> list[Strip]:
        palette = ink.palette
        text = self.plain()
        if self.is_folded:
            first = text.partition("\n")[0].strip("*# ")
            more = "" if "\n" not in text.strip() else " …"
            line = RichText.assemble(("✻ ", palette.accent), (one_line(first, 500) + more, palette.thought))
            return indented([ink.narrower(INDENT).clipped(line)])
        strips = ink.narrower(INDENT + 3).wrapped(RichText(text, palette.thought))
        head = ink.strip(RichText.assemble(("✻ ", palette.accent), ("Thought", palette.thought)))
        return indented([head, *indented(strips, 2, palette.faint, "│ ")])
