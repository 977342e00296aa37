"""The styles of the screen by role, the page width, and colours with enough contrast.

Law: text has at least 4.5 to 1 against each ground it may stand on, as WCAG 2 wants (AA).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import msgspec
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from accord.apps.console.sanitizer import without_controls
from accord.local.text import max_cells

__all__ = ["READABLE", "ControlFilter", "Ink", "Palette", "beside", "contrast", "folded", "palette_of", "readable_on"]


class Palette(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One style for each part; another theme is another palette."""

    text: Style
    muted: Style
    faint: Style
    """For lines and other signs that say nothing: it may be too faint to read."""
    accent: Style
    user: Style
    thought: Style
    good: Style
    bad: Style
    warning: Style
    heading: Style
    code: Style
    panel: Style
    added: Style
    removed: Style
    added_word: Style
    removed_word: Style
    cursor: Style
    syntax: str
    """The name of a Pygments style, or rich's `ansi_dark` and `ansi_light`."""
    code_background: str
    grounds: tuple[Color, ...] = ()
    """What code stands on, plain and in diffs; none where the terminal chooses the colours."""


def _style(
    color: Color | None = None,
    background: Color | None = None,
    *,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
) -> Style:
    return Style(
        color=None if color is None else color.rich_color,
        bgcolor=None if background is None else background.rich_color,
        bold=bold,
        italic=italic,
        underline=underline,
    )


def palette_of(variables: Mapping[str, str], *, dark: bool, ansi: bool) -> Palette:
    """The palette of a theme, given the variables that Textual makes of it."""
    named = {
        name: Color.parse(variables[name])
        for name in ("foreground", "background", "surface", "primary", "accent", "success", "error", "warning")
    }
    return _of_sixteen(named, dark) if ansi else _of_many(named, dark)


def _of_many(named: Mapping[str, Color], dark: bool) -> Palette:
    ground = named["background"]
    panel, code = (ground.blend(named["foreground"], share) for share in (0.06, 0.04))
    added, removed = (ground.blend(named[name], 0.14) for name in ("success", "error"))
    added_word, removed_word = (ground.blend(named[name], 0.32) for name in ("success", "error"))
    plain = (ground, named["surface"], panel, code)
    text = readable_on(named["foreground"], [*plain, added_word, removed_word])
    accent, warning, heading = (readable_on(named[name], plain) for name in ("accent", "warning", "primary"))
    return Palette(
        text=_style(text),
        muted=_style(readable_on(ground.blend(text, 0.62), (*plain, added, removed))),
        faint=_style(ground.blend(text, 0.34)),
        accent=_style(accent),
        user=_style(text, panel),
        thought=_style(readable_on(ground.blend(text, 0.58), plain), italic=True),
        good=_style(readable_on(named["success"], (*plain, added))),
        bad=_style(readable_on(named["error"], (*plain, removed))),
        warning=_style(warning),
        heading=_style(heading, bold=True),
        code=_style(readable_on(accent.blend(text, 0.25), plain), code),
        panel=_style(text, panel),
        added=_style(None, added),
        removed=_style(None, removed),
        added_word=_style(text, added_word),
        removed_word=_style(text, removed_word),
        cursor=_style(heading, bold=True),
        syntax="one-dark" if dark else "friendly",
        code_background=code.hex6,
        grounds=(*plain, added, removed),
    )


def _of_sixteen(named: Mapping[str, Color], dark: bool) -> Palette:
    good, bad, accent = named["success"], named["error"], named["accent"]
    return Palette(
        text=Style(),
        muted=Style(dim=True),
        faint=Style(dim=True),
        accent=_style(accent),
        user=Style(bold=True),
        thought=Style(dim=True, italic=True),
        good=_style(good),
        bad=_style(bad),
        warning=_style(named["warning"]),
        heading=_style(named["primary"], bold=True),
        code=_style(accent),
        panel=Style(),
        added=_style(good),
        removed=_style(bad),
        added_word=_style(good, bold=True, underline=True),
        removed_word=_style(bad, bold=True, underline=True),
        cursor=_style(named["primary"], bold=True),
        syntax="ansi_dark" if dark else "ansi_light",
        code_background="default",
    )


# Only measures and styles: nothing is ever written to it. The environment must not reach it.
_CONSOLE = Console(
    file=io.StringIO(), width=80, force_terminal=True, color_system="truecolor", legacy_windows=False, _environ={}
)


class ControlFilter(LineFilter):
    """The last step of each line before it is written to the terminal, whatever widget has drawn it.

    Law: what is written there by a widget holds no control character, not even in the address of a link.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [segment if _is_plain(segment) else _made_plain(segment) for segment in segments]


def _is_plain(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style is not None and segment.style.link)


def _made_plain(segment: Segment) -> Segment:
    style = segment.style
    if style is not None and style.link and without_controls(style.link) != style.link:
        style = style.update_link(None)
    return Segment(without_controls(segment.text), style, segment.control)


class Ink:
    """A palette and a page of some width."""

    __slots__ = ("palette", "width")

    def __init__(self, palette: Palette, width: int) -> None:
        self.palette = palette
        self.width = max(width, 10)

    def narrower(self, by: int) -> Ink:
        return Ink(self.palette, self.width - by)

    def at_most(self, width: int) -> Ink:
        """Long lines are hard to read."""
        return self if self.width <= width else Ink(self.palette, width)

    def is_like(self, other: Ink) -> bool:
        """Whether what one has drawn is what the other would draw."""
        return self.width == other.width and self.palette is other.palette

    def wrapped(self, text: Text) -> list[Strip]:
        """Whole words where they fit."""
        lines = text.wrap(_CONSOLE, self.width, overflow="fold", tab_size=4)
        return [self.strip(line) for line in lines]

    def exact_lines(self, text: Text) -> list[Text]:
        """Whole words where they fit in any terminal, else as `folded`: of an exact text, each line is in view."""
        if max_cells(text.plain) != text.cell_len:
            return folded(text, self.width, max_cells)
        return list(text.wrap(_CONSOLE, self.width, overflow="fold", tab_size=4))

    def folded(self, text: Text) -> list[Strip]:
        """Every character in its place, as code wants it; an exact text is in view in any terminal, up to its end."""
        return [self.strip(line) for line in folded(text, self.width, max_cells)]

    def clipped(self, text: Text) -> Strip:
        """One line, cut with an ellipsis."""
        line = text.copy()
        line.truncate(self.width, overflow="ellipsis")
        return self.strip(line)

    def strip(self, text: Text) -> Strip:
        """One line as it is."""
        if "\t" in text.plain:
            text.expand_tabs(4)
        if not text.spans:  # rich would leave out the style of the whole
            style = text.style if isinstance(text.style, Style) else Style.parse(text.style)
            return Strip([Segment(text.plain, style)] if text.plain else [])
        return Strip(text.render(_CONSOLE, end=""))

    def render(self, renderable: RenderableType) -> list[Strip]:
        """Anything that rich can draw."""
        options = _CONSOLE.options.update(width=self.width, height=None, highlight=False)
        return [Strip(line) for line in _CONSOLE.render_lines(renderable, options, pad=False)]


def folded(text: Text, width: int, measure: Callable[[str], int] = cell_len) -> list[Text]:
    """The text cut into lines of at most so many cells."""
    if measure(text.plain) <= width:
        return [text]
    cuts: list[int] = []
    cells = 0
    for place, letter in enumerate(text.plain):
        size = measure(letter) if not letter.isascii() else 1
        if cells + size > width:
            cuts.append(place)
            cells = 0
        cells += size
    return list(text.divide(cuts))


def beside(strips: Iterable[Strip], first: Segment, rest: Segment) -> list[Strip]:
    """The lines with something at their left: one thing before the first, another before the others."""
    return [Strip([first if place == 0 else rest, *strip]) for place, strip in enumerate(strips)]


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
