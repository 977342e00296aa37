"""Something to draw with in tests."""

from __future__ import annotations

from accord.apps.console.screen.drawing.palette import Ink, palette_of
from accord.apps.console.screen.themes import DARK

PALETTE = palette_of(DARK.to_color_system().generate(), dark=True, ansi=False)


def ink(width: int = 80) -> Ink:
    return Ink(PALETTE, width)


def texts(strips) -> list[str]:
    return [strip.text.rstrip() for strip in strips]
