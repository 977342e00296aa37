"""Messages of the user and of the agent, and the agent's thoughts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.segment import Segment
from rich.text import Text as RichText
from textual.strip import Strip

from accord.apps.console.sanitizer import Cleaner, one_line, visible
from accord.apps.console.screen.blocks.block import INDENT, Block, indent
from accord.apps.console.screen.drawing.incremental_text import IncrementalLines, IncrementalText
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Draw, Part
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text

READABLE_WIDTH = 120
"""The most cells in a line of the agent's messages."""
LONG_LINES, LONG_CHARACTERS = 20, 3000
"""A prompt with more is folded, and a pasted text with more is shown as a label."""
_FIRST_LINES, _FIRST_CHARACTERS = 8, 800
"""What a folded prompt shows of a text for which there is no label."""


def content_text(content: Content) -> str:
    """A text as it is; any other content as a short label."""
    match content:
        case Text():
            return content.text
        case Image() | Audio():
            size = len(content.data) * 3 // 4 - content.data[-2:].count("=")
            return f"[{one_line(content.mime_type)}, {_size(size)}]"
        case ResourceLink():
            return f"[{one_line(content.title or content.name)}]"
        case Resource():
            size = len(content.text if content.text is not None else content.blob or "")
            return f"[{one_line(content.uri.rpartition('/')[2] or content.uri)}, {_size(size)}]"
        case _:
            return f"[{one_line(content.tag)}]"


def _size(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"


class UserMessage(Block):
    """A prompt; attachments are shown by their names, and long texts that were pasted by labels, unless it is unfolded."""

    stands_alone = True

    def __init__(self, fold_pastes: Callable[[str], str] = str) -> None:
        super().__init__()
        self.not_accepted = False
        self._fold_pastes = fold_pastes
        self._content: list[Content] = []

    def mark(self, *, not_accepted: bool) -> None:
        """Show whether the agent rejected the prompt."""
        self.not_accepted = not_accepted
        self.invalidate()

    def replace(self, content: Iterable[Content]) -> None:
        self._content = list(content)
        self._changed()

    def append(self, content: Content) -> None:
        self._content.append(content)
        self._changed()

    def _changed(self) -> None:
        text = self._text
        self.can_fold = len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES
        self.invalidate()

    @property
    def _folded_text(self) -> tuple[str, str]:
        """The beginning of the text, with labels for what was pasted, and a note of what is left out."""
        lines = self._fold_pastes(self._text).split("\n")
        if len(lines) > LONG_LINES:
            return "\n".join(lines[:_FIRST_LINES]), f"[{len(lines) - _FIRST_LINES:,} more lines]"
        text = "\n".join(lines)
        if len(text) > LONG_CHARACTERS:
            return text[:_FIRST_CHARACTERS], f"[{len(text) - _FIRST_CHARACTERS:,} more characters]"
        return text, ""

    @property
    def _text(self) -> str:
        return "".join(content.text for content in self._content if type(content) is Text).strip("\n")

    @property
    def _attachments(self) -> str:
        return " ".join(content_text(content) for content in self._content if type(content) is not Text)

    def plain(self) -> str:
        return "\n".join(filter(None, [self._text, self._attachments]))

    def source(self) -> str:
        return self.plain()

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        text, rest = self._folded_text if self.can_fold and self.is_folded else (self._text, "")
        parts = [*IncrementalLines(_draw_text, _user_margin, visible(text)).parts]
        for note in filter(None, (rest, self._attachments)):
            parts += IncrementalLines(_draw_muted, _user_margin, visible(note)).parts
        return [*parts, Part(_user_margin(_not_accepted), 1)] if self.not_accepted else parts


def _draw_text(text: str, canvas: Canvas) -> list[Strip]:
    return canvas.wrap(RichText(text))


def _draw_muted(text: str, canvas: Canvas) -> list[Strip]:
    return canvas.wrap(RichText(text, canvas.palette.muted))


def _not_accepted(canvas: Canvas) -> list[Strip]:
    return canvas.wrap(RichText("not accepted", canvas.palette.warning))


def _user_margin(draw: Draw) -> Draw:
    def draw_with_bar(canvas: Canvas) -> list[Strip]:
        palette, width = canvas.palette, canvas.width - INDENT - 1
        bar, end = Segment("▌ ", palette.user + palette.accent), Segment(" ", palette.user)
        return [
            Strip([bar, *strip.apply_style(palette.user).adjust_cell_length(width, palette.user), end])
            for strip in draw(canvas.narrower(INDENT + 1))
        ]

    return draw_with_bar


def _agent_margin(draw: Draw) -> Draw:
    return lambda canvas: indent(draw(canvas.narrower(INDENT + 1).at_most(READABLE_WIDTH)))


class AgentMessage(Block):
    """A message of the agent: Markdown that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.replace(())

    def replace(self, content: Iterable[Content]) -> None:
        self._drawing, self._cleaner = self._new_drawing(), Cleaner()
        self._texts: list[str] = []
        if not (self.can_fold and self.is_folded):
            self.known_parts = self._drawing.parts
        for each in content:
            self.append(each)
        self.invalidate()

    def append(self, content: Content) -> None:
        text = content.text if type(content) is Text else f"\n\n{content_text(content)}\n\n"
        self._texts.append(text)
        self._drawing.append(self._cleaner.clean(text))
        self.invalidate()

    def plain(self) -> str:
        return visible("".join(self._texts)).strip("\n")

    def source(self) -> str:
        return "".join(self._texts)

    def _new_drawing(self) -> IncrementalText:
        from accord.apps.console.screen.drawing.markdown_stream import MarkdownStream  # noqa: PLC0415  # slow to load

        return MarkdownStream(margin=_agent_margin)

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        return self._drawing.parts


class Thought(AgentMessage):
    """A thought of the agent, folded to its first line."""

    can_fold = True

    def _new_drawing(self) -> IncrementalText:
        return IncrementalLines(_draw_thought, _thought_margin)

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        if self.is_folded:
            return [Part(self.draw, 1, self.plain)]
        return [Part(_thought_heading), *self._drawing.parts]

    def draw(self, canvas: Canvas) -> list[Strip]:
        """Draw the first line, for a folded thought."""
        palette, parts = canvas.palette, self._drawing.parts
        first, _, others = (parts[0].text().strip() if parts else "").partition("\n")
        more = " …" if others or len(parts) > 1 else ""
        line = RichText.assemble(("✻ ", palette.accent), (one_line(first.strip("*# "), 500) + more, palette.thought))
        return indent([canvas.narrower(INDENT).clip(line)])


def _draw_thought(text: str, canvas: Canvas) -> list[Strip]:
    return canvas.wrap(RichText(text, canvas.palette.thought))


def _thought_heading(canvas: Canvas) -> list[Strip]:
    heading = RichText.assemble(("✻ ", canvas.palette.accent), ("Thought", canvas.palette.thought))
    return indent([canvas.strip(heading)])


def _thought_margin(draw: Draw) -> Draw:
    return lambda canvas: indent(
        indent(draw(canvas.narrower(INDENT + 3).at_most(READABLE_WIDTH)), 2, canvas.palette.faint, "│ ")
    )
