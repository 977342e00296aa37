"""A block of the conversation. Law: whatever changes how it looks calls `touch`, and nothing else makes it drawn again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from accord.apps.console.screen.drawing.palette import Ink
from accord.apps.console.screen.drawing.parts import Frame, Part, draw_fault

__all__ = ["INDENT", "Block", "indented", "moved"]

log = logging.getLogger("accord.console")

INDENT = 2


class Block:
    """Something that was said or done. One that may be long tells its parts with `compose`, any other has `draw`."""

    can_fold = False

    def __init__(self) -> None:
        self.is_folded = True
        self.known_parts: Sequence[Part] = [self._only_part()]
        """Those it had when it was last looked at."""
        self._version = 0
        self._composed: tuple[int, Ink] | None = None

    def touch(self) -> None:
        self._version += 1

    def fold(self, folded: bool) -> bool:
        """Whether that changed anything."""
        if not self.can_fold or folded == self.is_folded:
            return False
        self.is_folded = folded
        self.touch()
        return True

    @property
    def height(self) -> int:
        """How many lines it has, or a guess."""
        return sum(part.height for part in self.known_parts)

    def is_composed(self, ink: Ink) -> bool:
        """Whether `known_parts` are those that it has now."""
        composed = self._composed
        return composed is not None and composed[0] == self._version and composed[1].is_like(ink)

    def parts(self, ink: Ink) -> Sequence[Part]:
        """Those it has now."""
        if not self.is_composed(ink):
            try:
                self.known_parts = self.compose(ink)
            except Exception as error:
                log.exception("something could not be taken apart")
                self.known_parts = [Part(partial(draw_fault, type(error).__name__, self.plain))]
            self._composed = (self._version, ink)
        return self.known_parts

    def lines(self, ink: Ink) -> list[Strip]:
        """All of them."""
        return [strip for part in self.parts(ink) for strip in part.lines(ink)]

    def compose(self, ink: Ink) -> Sequence[Part]:
        """Cheap: nothing is drawn."""
        return [self._only_part(self.height)]

    def _only_part(self, guess: int = 3) -> Part:
        return Part(self.draw, guess, self.plain)

    def draw(self, ink: Ink) -> list[Strip]:
        """The lines of one that is never long."""
        return []

    def plain(self) -> str:
        """What is copied."""
        raise NotImplementedError


def indented(strips: list[Strip], by: int = INDENT, style: Style | None = None, mark: str = "") -> list[Strip]:
    """Lines moved to the right, with something in the margin."""
    margin = Segment(mark.ljust(by), style)
    return [Strip([margin, *strip]) for strip in strips]


def moved(by: int, right: int = 1) -> Frame:
    """The frame of what is moved to the right and ends before the edge."""
    return lambda draw: lambda ink: indented(draw(ink.narrower(by + right)), by)
