"""Palettes of styles, the canvas that blocks are drawn on, and colours with enough contrast.

Law: text has a contrast of at least 4.5 to 1 against each background it may appear on (WCAG 2, level AA).
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

from accord.apps.console.sanitizer import strip_controls
from accord.local.text import max_cells


class Palette(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One style for each role. Each theme has its own palette."""

    text: Style
    muted: Style
    faint: Style
    """For rules and other decoration: it may be too faint to read."""
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
    found: Style
    found_here: Style
    """For the matches of a search, and the selected one."""
    syntax: str
    """The name of a Pygments style, or rich's `ansi_dark` and `ansi_light`."""
    code_background: str
    grounds: tuple[Color, ...] = ()
    """The backgrounds of code, plain and in diffs; empty if the terminal chooses the colours."""


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


def make_palette(variables: Mapping[str, str], *, dark: bool, ansi: bool) -> Palette:
    """Make the palette of a theme from its Textual variables."""
    colors = {
        name: Color.parse(variables[name])
        for name in ("foreground", "background", "surface", "primary", "accent", "success", "error", "warning")
    }
    return _ansi_palette(colors, dark) if ansi else _truecolor_palette(colors, dark)


def _truecolor_palette(colors: Mapping[str, Color], dark: bool) -> Palette:
    ground = colors["background"]
    panel, code = (ground.blend(colors["foreground"], share) for share in (0.06, 0.04))
    added, removed = (ground.blend(colors[name], 0.14) for name in ("success", "error"))
    added_word, removed_word = (ground.blend(colors[name], 0.32) for name in ("success", "error"))
    plain = (ground, colors["surface"], panel, code)
    text = readable_color(colors["foreground"], [*plain, added_word, removed_word])
    accent, warning, heading = (readable_color(colors[name], plain) for name in ("accent", "warning", "primary"))
    found = ground.blend(colors["warning"], 0.4)
    return Palette(
        text=_style(text),
        muted=_style(readable_color(ground.blend(text, 0.62), (*plain, added, removed))),
        faint=_style(ground.blend(text, 0.34)),
        accent=_style(accent),
        user=_style(text, panel),
        thought=_style(readable_color(ground.blend(text, 0.58), plain), italic=True),
        good=_style(readable_color(colors["success"], (*plain, added))),
        bad=_style(readable_color(colors["error"], (*plain, removed))),
        warning=_style(warning),
        heading=_style(heading, bold=True),
        code=_style(readable_color(accent.blend(text, 0.25), plain), code),
        panel=_style(text, panel),
        added=_style(None, added),
        removed=_style(None, removed),
        added_word=_style(text, added_word),
        removed_word=_style(text, removed_word),
        cursor=_style(heading, bold=True),
        found=_style(readable_color(text, [found]), found),
        found_here=_style(readable_color(text, [warning]), warning, bold=True),
        syntax="one-dark" if dark else "friendly",
        code_background=code.hex6,
        grounds=(*plain, added, removed),
    )


def _ansi_palette(colors: Mapping[str, Color], dark: bool) -> Palette:
    """The terminal's own sixteen colours."""
    good, bad, accent = colors["success"], colors["error"], colors["accent"]
    # Many terminals have a dark blue that can hardly be read on black.
    heading = Style(color="bright_blue", bold=True) if dark else _style(colors["primary"], bold=True)
    return Palette(
        text=Style(),
        muted=Style(dim=True),
        faint=Style(dim=True),
        accent=_style(accent),
        user=Style(bold=True),
        thought=Style(dim=True, italic=True),
        good=_style(good),
        bad=_style(bad),
        warning=_style(colors["warning"]),
        heading=heading,
        code=_style(accent),
        panel=Style(),
        added=_style(good),
        removed=_style(bad),
        added_word=_style(good, bold=True, underline=True),
        removed_word=_style(bad, bold=True, underline=True),
        cursor=heading,
        found=Style(reverse=True),
        found_here=_style(colors["warning"], bold=True, underline=True) + Style(reverse=True),
        syntax="ansi_dark" if dark else "ansi_light",
        code_background="default",
    )


# Used to measure and style only: nothing is written to it, and it must not depend on the environment.
_CONSOLE = Console(
    file=io.StringIO(), width=80, force_terminal=True, color_system="truecolor", legacy_windows=False, _environ={}
)


class ControlFilter(LineFilter):
    """Removes control characters from each line before it is written to the terminal.

    Law: no widget writes a control character to the terminal, not even in the address of a link.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [segment if _is_plain(segment) else _without_controls(segment) for segment in segments]


def _is_plain(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style is not None and segment.style.link)


def _without_controls(segment: Segment) -> Segment:
    style = segment.style
    if style is not None and style.link and strip_controls(style.link) != style.link:
        style = style.update_link(None)
    return Segment(strip_controls(segment.text), style, segment.control)


class Canvas:
    """Turns text into lines: a palette, a width in cells, and the width of the whole terminal."""

    __slots__ = ("palette", "terminal_width", "width")

    def __init__(self, palette: Palette, width: int, terminal_width: int = 0) -> None:
        self.palette = palette
        self.width = max(width, 10)
        self.terminal_width = terminal_width or self.width

    def narrower(self, by: int) -> Canvas:
        return Canvas(self.palette, self.width - by, self.terminal_width)

    def at_most(self, width: int) -> Canvas:
        """A canvas of no more than this width."""
        return self if self.width <= width else Canvas(self.palette, width, self.terminal_width)

    def matches(self, other: Canvas) -> bool:
        """Whether both draw the same lines."""
        widths = (self.width, self.terminal_width)
        return widths == (other.width, other.terminal_width) and self.palette is other.palette

    def wrap(self, text: Text) -> list[Strip]:
        """Break lines between words where possible."""
        lines = text.wrap(_CONSOLE, self.width, overflow="fold", tab_size=4)
        return [self.strip(line) for line in lines]

    def exact_lines(self, text: Text) -> list[Text]:
        """Break between words if all terminals agree on the width, else as `fold`, so that no line is cut off."""
        if max_cells(text.plain) != text.cell_len:
            return fold_text(text, self.width, max_cells)
        return list(text.wrap(_CONSOLE, self.width, overflow="fold", tab_size=4))

    def fold(self, text: Text) -> list[Strip]:
        """Break lines at the last cell, as for code; no terminal cuts off a character."""
        return [self.strip(line) for line in fold_text(text, self.width, max_cells)]

    def clip(self, text: Text) -> Strip:
        """Cut the text to one line, with an ellipsis."""
        line = text.copy()
        line.truncate(self.width, overflow="ellipsis")
        return self.strip(line)

    def strip(self, text: Text) -> Strip:
        """Draw one line as it is."""
        if "\t" in text.plain:
            text.expand_tabs(4)
        if not text.spans:  # rich would leave out the style of the whole
            style = text.style if isinstance(text.style, Style) else Style.parse(text.style)
            return Strip([Segment(text.plain, style)] if text.plain else [])
        return Strip(text.render(_CONSOLE, end=""))

    def render(self, renderable: RenderableType) -> list[Strip]:
        """Draw any rich renderable."""
        options = _CONSOLE.options.update(width=self.width, height=None, highlight=False)
        return [Strip(line) for line in _CONSOLE.render_lines(renderable, options, pad=False)]


def fold_text(text: Text, width: int, measure: Callable[[str], int] = cell_len) -> list[Text]:
    """Cut the text into lines of at most `width` cells."""
    if measure(text.plain) <= width:
        return [text]
    cuts: list[int] = []
    cells = 0
    for index, character in enumerate(text.plain):
        size = measure(character) if not character.isascii() else 1
        if cells + size > width:
            cuts.append(index)
            cells = 0
        cells += size
    return list(text.divide(cuts))


READABLE, VISIBLE = 4.5, 3.0
"""The contrast of text, and of a scrollbar."""
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)
_MARGIN = 0.05
"""Tolerance for rounding to 256 steps."""


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio: 1 for equal colours, 21 for black on white."""
    return _ratio(_luminance(one), _luminance(other))


def readable_color(color: Color, grounds: Iterable[Color]) -> Color:
    """Mix in as little black or white as makes the colour readable on all these backgrounds."""
    lights = [_luminance(ground) for ground in grounds]
    extremes = (min(lights), max(lights))
    target = _WHITE if sum(lights) / len(lights) < 0.2 else _BLACK
    for percent in range(0, 100, 4):
        mixed = color.blend(target, percent / 100)
        if all(_ratio(_luminance(mixed), light) >= READABLE + _MARGIN for light in extremes):
            return mixed
    return target


def scrollbar_color(variables: Mapping[str, str], *, ansi: bool) -> str:
    """The colour of a scrollbar's thumb: between the theme's background and its text, and visible on both backgrounds."""
    if ansi:
        return "ansi_default"  # Textual draws the thumb in reverse: with the terminal's own colours, that is visible
    text, ground, surface = (Color.parse(variables[name]) for name in ("foreground", "background", "surface"))
    shades = (ground.blend(text, percent / 100) for percent in range(20, 100, 4))
    return next((each for each in shades if min(contrast(each, ground), contrast(each, surface)) >= VISIBLE), text).hex6


def _ratio(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@lru_cache(maxsize=1024)
def _luminance(color: Color) -> float:
    red, green, blue = (_linear(part / 255) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
