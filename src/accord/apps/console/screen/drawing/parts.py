"""What is long, as parts. Law: a part is short, whatever it is a part of, and is drawn when it is seen and not before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.drawing.palette import Ink

__all__ = ["PART_LETTERS", "PART_LINES", "Draw", "Frame", "Part", "draw_fault", "first_lines", "unframed"]

log = logging.getLogger("accord.console")

PART_LINES, PART_LETTERS = 20, 3000
"""About as much is in one part: to draw it takes some 10 ms at most."""

Draw: TypeAlias = Callable[[Ink], list[Strip]]
Frame: TypeAlias = Callable[[Draw], Draw]
"""Where a part stands: what it draws gets a narrower page, and a margin."""


class Part:
    """Some lines. `height` is how many there were last time, or a guess."""

    __slots__ = ("_draw", "_drawn", "_ink", "_plain", "height")

    def __init__(self, draw: Draw, guess: int = 1, plain: Callable[[], str] = str) -> None:
        self._draw = draw
        self._plain = plain
        self._ink: Ink | None = None
        self._drawn: list[Strip] | None = None
        self.height = guess

    def touch(self) -> None:
        """It looks different now."""
        self._ink = self._drawn = None

    def forget(self) -> None:
        """Let go of the drawn lines; their number stays known."""
        self._drawn = None

    @property
    def is_kept(self) -> bool:
        """Whether it holds lines."""
        return self._drawn is not None

    def is_measured(self, ink: Ink) -> bool:
        """Whether `height` is no guess."""
        return self._ink is not None and self._ink.is_like(ink)

    def lines(self, ink: Ink) -> list[Strip]:
        """Drawn at most once for each change and width, as long as they are kept."""
        if self._drawn is None or self._ink is None or not self._ink.is_like(ink):
            self._drawn = self._draw_safely(ink)
            self._ink, self.height = ink, len(self._drawn)
        return self._drawn

    def _draw_safely(self, ink: Ink) -> list[Strip]:
        """What it draws; the bare text if that fails: nothing that an agent says may bring the screen down."""
        try:
            return self._draw(ink)
        except Exception as error:
            log.exception("something could not be drawn")
            return draw_fault(type(error).__name__, self._plain, ink)


def draw_fault(name: str, plain: Callable[[], str], ink: Ink) -> list[Strip]:
    """In the place of what could not be drawn: its bare text, or a line that says so if there is none."""
    try:
        text = plain()
    except Exception:  # noqa: BLE001  # it is the fault that is told
        text = ""
    if not text:
        return ink.folded(Text(f"accord could not draw this, please report it: {name}", ink.palette.bad))
    return [strip for line in visible(text).split("\n") for strip in ink.folded(Text(line))]


def unframed(draw: Draw) -> Draw:
    """No frame."""
    return draw


def first_lines(parts: Iterable[Part], ink: Ink, most: int) -> list[Strip]:
    """Only so many, and no more is drawn than that takes."""
    strips: list[Strip] = []
    for part in parts:
        strips += part.lines(ink)
        if len(strips) >= most:
            break
    return strips[:most]
