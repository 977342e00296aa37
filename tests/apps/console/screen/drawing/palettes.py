"""Something to draw with in tests."""

from __future__ import annotations

from accord.apps.console.screen.drawing.palette import Canvas, make_palette
from accord.apps.console.screen.themes import DARK

PALETTE = make_palette(DARK.to_color_system().generate(), dark=True, ansi=False)


def canvas(width: int = 80) -> Canvas:
    return Canvas(PALETTE, width)


def texts(strips) -> list[str]:
    return [strip.text.rstrip() for strip in strips]
