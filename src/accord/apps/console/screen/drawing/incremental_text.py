"""Text that grows, in parts. Law: only the last part changes when something is appended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from textual.strip import Strip

from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import PART_LETTERS, PART_LINES, Frame, Part, unframed

__all__ = ["GrowingLines", "GrowingText", "Piece"]

DrawText: TypeAlias = Callable[[str, Ink], list[Strip]]


class Piece(Part):
    """Lines of a text; the last piece also has the line that is not complete yet, as `rest`.

    One that `is_apart` has a blank line above it.
    """

    __slots__ = ("_draw_framed", "is_apart", "letters", "rest", "source")

    def __init__(self, frame: Frame, *, is_apart: bool = False) -> None:
        super().__init__(self._draw_apart, int(is_apart), self.text)
        self._draw_framed = frame(self.draw)
        self.is_apart = is_apart
        self.source: list[str] = []
        self.rest = ""
        self.letters = 0

    def text(self) -> str:
        return "\n".join([*self.source, self.rest] if self.rest else self.source)

    def add(self, line: str) -> None:
        self.source.append(line)
        self.letters += len(line) + 1
        self.height += 1 + len(line) // 100
        self.touch()

    def draw(self, ink: Ink) -> list[Strip]:
        raise NotImplementedError

    def _draw_apart(self, ink: Ink) -> list[Strip]:
        strips = self._draw_framed(ink)
        return [Strip([]), *strips] if strips and self.is_apart else strips

    @property
    def is_blank(self) -> bool:
        return not self.rest.strip() and not any(line.strip() for line in self.source)

    @property
    def is_full(self) -> bool:
        return len(self.source) >= PART_LINES or self.letters >= PART_LETTERS


class GrowingText:
    """Takes in a text bit by bit, and cuts it into pieces by its lines. A very long line counts as several."""

    def __init__(self, frame: Frame = unframed) -> None:
        self.frame = frame
        self.parts: list[Piece] = []
        self._rest = ""

    def append(self, text: str) -> None:
        *lines, rest = (self._rest + text).split("\n")
        for line in lines:
            self._take_all(line)
        while len(rest) > PART_LETTERS:
            rest = self._take_some(rest)
        self._rest = rest
        if rest:
            piece = self.open_piece()
            piece.rest = rest
            piece.touch()
            self.rest_changed(piece)

    def draw(self, ink: Ink) -> list[Strip]:
        """All of it."""
        return [strip for part in self.parts for strip in part.lines(ink)]

    def _take_all(self, line: str) -> None:
        while len(line) > PART_LETTERS:
            line = self._take_some(line)
        self._close_rest()
        self.take(line)

    def _take_some(self, line: str) -> str:
        end = line.rfind(" ", PART_LETTERS // 2, PART_LETTERS) + 1 or PART_LETTERS
        self._close_rest()
        self.take(line[:end])
        return line[end:]

    def _close_rest(self) -> None:
        if self.parts and self.parts[-1].rest:
            self.parts[-1].rest = ""
            self.parts[-1].touch()

    def open_piece(self) -> Piece:
        """The last one, to which something may be added."""
        if not self.parts:
            self.parts.append(self.new_piece())
        return self.parts[-1]

    def new_piece(self) -> Piece:
        raise NotImplementedError

    def take(self, line: str) -> None:
        """The next line, which is complete and not too long."""
        raise NotImplementedError

    def rest_changed(self, piece: Piece) -> None:
        """The line that is not complete yet has grown."""


class _Drawn(Piece):
    __slots__ = ("_draw_text",)

    def __init__(self, frame: Frame, draw_text: DrawText) -> None:
        super().__init__(frame)
        self._draw_text = draw_text

    def draw(self, ink: Ink) -> list[Strip]:
        return self._draw_text(self.text(), ink)


class GrowingLines(GrowingText):
    """Lines that mean nothing but themselves, drawn by `draw_text`; without blank ones at the beginning and the end."""

    def __init__(self, draw_text: DrawText, frame: Frame = unframed, text: str = "") -> None:
        super().__init__(frame)
        self._draw_text = draw_text
        self._blanks = 0
        if text:
            self.append(text)

    def new_piece(self) -> Piece:
        return _Drawn(self.frame, self._draw_text)

    def take(self, line: str) -> None:
        if not line.strip():
            self._blanks += 1
            return
        self._add_blanks()
        self._add(line)

    def rest_changed(self, piece: Piece) -> None:
        if piece.rest.strip() and self._blanks:
            rest, piece.rest = piece.rest, ""
            self._add_blanks()
            self.open_piece().rest = rest

    def _add_blanks(self) -> None:
        blanks, self._blanks = self._blanks, 0
        for _ in range(blanks if self.parts and self.open_piece().source else 0):
            self._add("")

    def _add(self, line: str) -> None:
        if self.open_piece().is_full:
            self.parts.append(self.new_piece())
        self.open_piece().add(line)
