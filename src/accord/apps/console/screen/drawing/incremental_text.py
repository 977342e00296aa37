"""Text that grows, in parts. Law: appending text changes only the last part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from textual.strip import Strip

from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import PART_CHARACTERS, PART_LINES, Margin, Part, no_margin

DrawText: TypeAlias = Callable[[str, Canvas], list[Strip]]


class TextPart(Part):
    """Lines of a text. The last part also holds the incomplete last line, as `rest`.

    A part with `is_apart` has a blank line above it.
    """

    __slots__ = ("_draw_with_margin", "characters", "is_apart", "rest", "source")

    def __init__(self, margin: Margin, *, is_apart: bool = False) -> None:
        super().__init__(self._draw_apart, int(is_apart), self.text)
        self._draw_with_margin = margin(self.draw)
        self.is_apart = is_apart
        self.source: list[str] = []
        self.rest = ""
        self.characters = 0

    def text(self) -> str:
        return "\n".join([*self.source, self.rest] if self.rest else self.source)

    def add(self, line: str) -> None:
        self.source.append(line)
        self.characters += len(line) + 1
        self.height += 1 + len(line) // 100
        self.invalidate()

    def draw(self, canvas: Canvas) -> list[Strip]:
        raise NotImplementedError

    def _draw_apart(self, canvas: Canvas) -> list[Strip]:
        strips = self._draw_with_margin(canvas)
        return [Strip([]), *strips] if strips and self.is_apart else strips

    @property
    def is_blank(self) -> bool:
        return not self.rest.strip() and not any(line.strip() for line in self.source)

    @property
    def is_full(self) -> bool:
        return len(self.source) >= PART_LINES or self.characters >= PART_CHARACTERS


class IncrementalText:
    """Receives a text in chunks and cuts it into parts at line ends. A very long line counts as several lines."""

    def __init__(self, margin: Margin = no_margin) -> None:
        self.margin = margin
        self.parts: list[TextPart] = []
        self._rest = ""

    def append(self, text: str) -> None:
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            self._close_rest()
            self.add_line(self._cut(line))
        self._rest = rest = self._cut(rest)
        if rest:
            part = self.last_part()
            part.rest = rest
            part.invalidate()
            self.rest_changed(part)

    def draw(self, canvas: Canvas) -> list[Strip]:
        """All lines."""
        return [strip for part in self.parts for strip in part.lines(canvas)]

    def _cut(self, line: str) -> str:
        """Add the beginning of a very long line as lines of its own; returns the rest of it."""
        while len(line) > PART_CHARACTERS:
            end = line.rfind(" ", PART_CHARACTERS // 2, PART_CHARACTERS) + 1 or PART_CHARACTERS
            self._close_rest()
            self.add_line(line[:end])
            line = line[end:]
        return line

    def _close_rest(self) -> None:
        if self.parts and self.parts[-1].rest:
            self.parts[-1].rest = ""
            self.parts[-1].invalidate()

    def last_part(self) -> TextPart:
        """The part to which lines are added."""
        if not self.parts:
            self.parts.append(self.new_part())
        return self.parts[-1]

    def new_part(self) -> TextPart:
        raise NotImplementedError

    def add_line(self, line: str) -> None:
        """Add the next line, which is complete and not too long."""
        raise NotImplementedError

    def rest_changed(self, part: TextPart) -> None:
        """Called when the incomplete last line has grown."""


class _LinesPart(TextPart):
    __slots__ = ("_draw_text",)

    def __init__(self, margin: Margin, draw_text: DrawText) -> None:
        super().__init__(margin)
        self._draw_text = draw_text

    def draw(self, canvas: Canvas) -> list[Strip]:
        return self._draw_text(self.text(), canvas)


class IncrementalLines(IncrementalText):
    """Lines without markup, drawn by `draw_text`. Blank lines at the beginning and the end are left out."""

    def __init__(self, draw_text: DrawText, margin: Margin = no_margin, text: str = "") -> None:
        super().__init__(margin)
        self._draw_text = draw_text
        self._blanks = 0
        if text:
            self.append(text)

    def new_part(self) -> TextPart:
        return _LinesPart(self.margin, self._draw_text)

    def add_line(self, line: str) -> None:
        if not line.strip():
            self._blanks += 1
            return
        self._add_blanks()
        self._add(line)

    def rest_changed(self, part: TextPart) -> None:
        if part.rest.strip() and self._blanks:
            rest, part.rest = part.rest, ""
            self._add_blanks()
            self.last_part().rest = rest

    def _add_blanks(self) -> None:
        blanks, self._blanks = self._blanks, 0
        for _ in range(blanks if self.parts and self.last_part().source else 0):
            self._add("")

    def _add(self, line: str) -> None:
        if self.last_part().is_full:
            self.parts.append(self.new_part())
        self.last_part().add(line)
