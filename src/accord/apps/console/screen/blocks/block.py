"""A block of the conversation. Law: whatever changes how it looks calls `touch`, and nothing else makes it drawn again."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import visible
from accord.apps.console.screen.drawing.ink import Ink

__all__ = ["INDENT", "Block", "drawn_safely", "indented"]

log = logging.getLogger("accord.console")

INDENT = 2


class Block:
    """Something that was said or done. `draw` gives its lines; `height` is how many there were last time, or a guess."""

    can_fold = False

    def __init__(self) -> None:
        self.version = 0
        self.is_folded = True
        self.height = 3
        self._drawn: tuple[Ink, int, list[Strip]] | None = None

    def touch(self) -> None:
        self.version += 1

    def fold(self, folded: bool) -> bool:
        """Whether that changed anything."""
        if not self.can_fold or folded == self.is_folded:
            return False
        self.is_folded = folded
        self.touch()
        return True

    def is_drawn(self, ink: Ink) -> bool:
        drawn = self._drawn
        return drawn is not None and drawn[1] == self.version and drawn[0].is_like(ink)

    def lines(self, ink: Ink) -> list[Strip]:
        """Its lines, drawn at most once for each change and width."""
        drawn = self._drawn
        if drawn is not None and drawn[1] == self.version and drawn[0].is_like(ink):
            return drawn[2]
        strips = drawn_safely(self.draw, ink, self.plain) or [Strip([])]
        self._drawn = (ink, self.version, strips)
        self.height = len(strips)
        return strips

    def forget(self) -> None:
        """Let go of the drawn lines; their number stays known."""
        self._drawn = None

    def draw(self, ink: Ink) -> list[Strip]:
        raise NotImplementedError

    def plain(self) -> str:
        """What is copied."""
        raise NotImplementedError


def drawn_safely(draw: Callable[[Ink], list[Strip]], ink: Ink, plain: Callable[[], str]) -> list[Strip]:
    """What it draws; the bare text if that fails: nothing that an agent says may bring the screen down."""
    try:
        return draw(ink)
    except Exception:
        log.exception("something could not be drawn")
        return [strip for line in visible(plain()).split("\n") for strip in ink.folded(Text(line))]


def indented(strips: list[Strip], by: int = INDENT, style: Style | None = None, mark: str = "") -> list[Strip]:
    """Lines moved to the right, with something in the margin."""
    margin = Segment(mark.ljust(by), style)
    return [Strip([margin, *strip]) for strip in strips]
