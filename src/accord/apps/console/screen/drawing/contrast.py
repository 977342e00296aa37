"""Colours that can be read. Law: text has at least 4.5 to 1 against each ground it may stand on, as WCAG 2 wants (AA)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from textual.color import Color

__all__ = ["READABLE", "contrast", "readable_on"]

READABLE = 4.5
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)
_MARGIN = 0.05
"""Colours are rounded to 256 steps afterwards."""


def contrast(one: Color, other: Color) -> float:
    """From 1, for the same colour, to 21, for black on white."""
    return _ratio(_luminance(one), _luminance(other))


def readable_on(color: Color, grounds: Iterable[Color]) -> Color:
    """The colour itself, or as little of black or white in it as makes it readable on all of these."""
    lights = [_luminance(ground) for ground in grounds]
    extremes = (min(lights), max(lights))
    target = _WHITE if sum(lights) / len(lights) < 0.2 else _BLACK
    for percent in range(0, 100, 4):
        mixed = color.blend(target, percent / 100)
        if all(_ratio(_luminance(mixed), light) >= READABLE + _MARGIN for light in extremes):
            return mixed
    return target


def _ratio(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@lru_cache(maxsize=1024)
def _luminance(color: Color) -> float:
    red, green, blue = (_linear(part / 255) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
