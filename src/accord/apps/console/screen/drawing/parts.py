"""Parts of a long text. Law: a part is short, however long the text is, and is drawn only when it is visible."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias

from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitizer import visible
from accord.apps.console.screen.drawing.palette import Canvas

log = logging.getLogger("accord.console")

PART_LINES, PART_CHARACTERS = 20, 3000
"""The approximate size of a part: drawing one takes at most about 10 ms."""

Draw: TypeAlias = Callable[[Canvas], list[Strip]]
Margin: TypeAlias = Callable[[Draw], Draw]
"""Makes a function draw on a narrower canvas, with a margin."""


class Part:
    """Some lines. `height` is their number when last drawn, or an estimate."""

    __slots__ = ("_canvas", "_draw", "_lines", "_plain", "height")

    def __init__(self, draw: Draw, height: int = 1, plain: Callable[[], str] = str) -> None:
        self._draw = draw
        self._plain = plain
        self._canvas: Canvas | None = None
        self._lines: list[Strip] | None = None
        self.height = height

    def invalidate(self) -> None:
        """Draw it again when it is next visible."""
        self._canvas = self._lines = None

    def drop_lines(self) -> None:
        """Free the memory of the drawn lines; the height stays known."""
        self._lines = None

    @property
    def is_drawn(self) -> bool:
        """Whether it holds lines."""
        return self._lines is not None

    def is_measured(self, canvas: Canvas) -> bool:
        """Whether `height` is exact."""
        return self._canvas is not None and self._canvas.matches(canvas)

    def lines(self, canvas: Canvas) -> list[Strip]:
        """The lines, drawn only if they changed, were dropped, or the canvas differs."""
        if self._lines is None or self._canvas is None or not self._canvas.matches(canvas):
            self._lines = self._draw_safely(canvas)
            self._canvas, self.height = canvas, len(self._lines)
        return self._lines

    def _draw_safely(self, canvas: Canvas) -> list[Strip]:
        """Draw it, or its plain text if that fails: nothing an agent sends may crash the screen."""
        try:
            return self._draw(canvas)
        except Exception as error:
            log.exception("drawing a part failed")
            return draw_fallback(type(error).__name__, self._plain, canvas)


def draw_fallback(name: str, plain: Callable[[], str], canvas: Canvas) -> list[Strip]:
    """Draw the plain text in place of something that could not be drawn, or the error's name if there is no text."""
    try:
        text = plain()
    except Exception:  # noqa: BLE001  # the first error is the one to report
        text = ""
    if not text:
        return canvas.fold(Text(f"accord failed to draw this (a bug, please report it): {name}", canvas.palette.bad))
    return [strip for line in visible(text).split("\n") for strip in canvas.fold(Text(line))]


def no_margin(draw: Draw) -> Draw:
    return draw


def first_lines(parts: Iterable[Part], canvas: Canvas, most: int) -> list[Strip]:
    """The first `most` lines. Draws no more parts than needed."""
    strips: list[Strip] = []
    for part in parts:
        strips += part.lines(canvas)
        if len(strips) >= most:
            break
    return strips[:most]
