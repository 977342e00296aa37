"""A block of the conversation. Law: a block is drawn again only after `invalidate`, which every change of it calls."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Margin, Part, draw_fallback

log = logging.getLogger("accord.console")

INDENT = 2


class Block:
    """A message, a tool call, a notice. One that may be long overrides `compose`, any other overrides `draw`."""

    can_fold = False
    stands_alone = False
    """Whether a blank line is above it, also if it has only one line and can fold."""

    def __init__(self) -> None:
        self.is_folded = True
        self.known_parts: Sequence[Part] = [self._only_part()]
        """The parts when `parts` was last called."""
        self.version = 0
        """Counts the changes."""
        self._composed: tuple[int, Canvas] | None = None

    def invalidate(self) -> None:
        self.version += 1

    def fold(self, is_folded: bool) -> bool:
        """Fold or unfold; returns whether that changed anything."""
        if not self.can_fold or is_folded == self.is_folded:
            return False
        self.is_folded = is_folded
        self.invalidate()
        return True

    @property
    def height(self) -> int:
        """The number of lines, or an estimate."""
        return sum(part.height for part in self.known_parts)

    def is_composed(self, canvas: Canvas) -> bool:
        """Whether `known_parts` is up to date."""
        composed = self._composed
        return composed is not None and composed[0] == self.version and composed[1].matches(canvas)

    def parts(self, canvas: Canvas) -> Sequence[Part]:
        """The current parts."""
        if not self.is_composed(canvas):
            self.known_parts = self._compose_safely(canvas)
            self._composed = (self.version, canvas)
        return self.known_parts

    def unfolded_parts(self, canvas: Canvas) -> Sequence[Part]:
        """The parts as they are when it is unfolded, whether or not it is."""
        if not (self.can_fold and self.is_folded):
            return list(self.parts(canvas))
        self.is_folded = False
        try:
            return list(self._compose_safely(canvas))
        finally:
            self.is_folded = True

    def _compose_safely(self, canvas: Canvas) -> Sequence[Part]:
        try:
            return self.compose(canvas)
        except Exception as error:
            log.exception("composing a block failed")
            return [Part(partial(draw_fallback, type(error).__name__, self.plain))]

    def lines(self, canvas: Canvas) -> list[Strip]:
        """All lines."""
        return [strip for part in self.parts(canvas) for strip in part.lines(canvas)]

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        """Make the parts. Cheap: nothing is drawn."""
        return [self._only_part(self.height)]

    def _only_part(self, height: int = 3) -> Part:
        return Part(self.draw, height, self.plain)

    def draw(self, canvas: Canvas) -> list[Strip]:
        """Draw a block that is never long."""
        return []

    def plain(self) -> str:
        """The text to copy."""
        raise NotImplementedError

    def source(self) -> str | None:
        """A text with every word that it shows when it is unfolded; None if there is none."""
        return None


def indent(strips: list[Strip], by: int = INDENT, style: Style | None = None, mark: str = "") -> list[Strip]:
    """Indent lines, with an optional mark in the margin."""
    margin = Segment(mark.ljust(by), style)
    return [Strip([margin, *strip]) for strip in strips]


def left_margin(by: int, right: int = 1) -> Margin:
    """A margin of blanks at the left and the right."""
    return lambda draw: lambda canvas: indent(draw(canvas.narrower(by + right)), by)
