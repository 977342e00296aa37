"""Diffs as lines: one column, or old and new side by side where there is room for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import one_line, visible
from accord.apps.console.screen.drawing.code import coloured_lines, language_of
from accord.apps.console.screen.drawing.diffs import FileDiff, Hunk, Line
from accord.apps.console.screen.drawing.ink import Ink, Palette, folded

__all__ = ["SIDE_BY_SIDE", "draw_diff", "figures"]

SIDE_BY_SIDE = 140
"""From this width on, old and new stand beside each other."""

MINUS = "\u2212"
_MOST_COLOURED = 400
_LONGEST_LINE = 2000


def figures(added: int, removed: int, palette: Palette) -> Text:
    """How much came and went."""
    return Text.assemble((f"+{added}", palette.good), " ", (f"{MINUS}{removed}", palette.bad))


def draw_diff(diff: FileDiff, ink: Ink, *, most: int | None = None) -> list[Strip]:
    """The hunks; with `most`, only about so many lines of the first ones."""
    strips: list[Strip] = []
    digits = len(str(max([line.number for hunk in diff.hunks for line in hunk.lines], default=1)))
    draw = _beside if ink.width >= SIDE_BY_SIDE else _below
    for place, hunk in enumerate(diff.hunks):
        if place:
            strips.append(Strip([Segment(f"{'⋮':>{digits + 1}}", ink.palette.faint)]))
        shown = hunk if most is None else Hunk(hunk.lines[:most])
        for strip in draw(shown, diff.path, ink, max(digits, 3)):
            strips.append(strip)
            if most is not None and len(strips) >= most:
                return strips
    if not diff.hunks:
        strips.append(ink.clipped(Text(f"  {one_line(diff.operation)}, contents not shown", ink.palette.muted)))
    return strips


def _below(hunk: Hunk, path: str, ink: Ink, digits: int) -> Iterator[Strip]:
    for line, text in zip(hunk.lines, _coloured(hunk.lines, path, ink.palette), strict=True):
        yield from _drawn(line, text, ink.width, digits, ink)


def _beside(hunk: Hunk, path: str, ink: Ink, digits: int) -> Iterator[Strip]:
    half = (ink.width - 1) // 2
    texts = dict(zip(map(id, hunk.lines), _coloured(hunk.lines, path, ink.palette), strict=True))
    blank = Strip.blank(half)
    for old, new in _pairs(hunk.lines):
        left = [] if old is None else list(_drawn(old, texts[id(old)], half, digits, ink, on_left=True))
        right = [] if new is None else list(_drawn(new, texts[id(new)], half, digits, ink))
        for one, other in zip_longest(left, right, fillvalue=blank):
            yield Strip([*one, Segment("│", ink.palette.faint), *other])


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    removed: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.sign == "-":
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            yield from zip_longest(removed, added)
            removed, added = [], []
            yield line, line
    yield from zip_longest(removed, added)


def _drawn(line: Line, text: Text, width: int, digits: int, ink: Ink, *, on_left: bool = False) -> Iterator[Strip]:
    palette = ink.palette
    count = line.old_number if on_left and line.sign == " " else line.number
    ground = {"+": palette.added, "-": palette.removed}.get(line.sign, Style())
    mark = {"+": palette.good, "-": palette.bad}.get(line.sign, palette.faint)
    for place, part in enumerate(folded(text, width - digits - 4)):
        number = f" {count:>{digits}} " if place == 0 else " " * (digits + 2)
        sign = line.sign if place == 0 else " "
        strip = ink.strip(part).extend_cell_length(width - digits - 4)
        yield Strip(
            [Segment(number, palette.faint + ground), Segment(f"{sign} ", mark + ground), *strip.apply_style(ground)]
        )


def _coloured(lines: Sequence[Line], path: str, palette: Palette) -> list[Text]:
    """The lines' texts with the colours of their language and the changed words marked."""
    cleaned = [visible(line.text[:_LONGEST_LINE]).replace("\t", "    ") for line in lines]
    texts = [Text(text, no_wrap=True) for text in cleaned]
    if len(lines) <= _MOST_COLOURED:
        _colour(texts, [place for place, line in enumerate(lines) if line.sign != "-"], path, palette)
        _colour(texts, [place for place, line in enumerate(lines) if line.sign == "-"], path, palette)
    for line, text in zip(lines, texts, strict=True):
        word = palette.added_word if line.sign == "+" else palette.removed_word
        if len(text) == len(line.text):  # nothing was put in another thing's place, so the words are where they were
            for start, end in line.words:
                text.stylize(word, start, end)
    return texts


def _colour(texts: list[Text], places: Sequence[int], path: str, palette: Palette) -> None:
    if not places:
        return
    source = "\n".join(texts[place].plain for place in places)
    for place, text in zip(places, coloured_lines(source, language_of(path), palette), strict=False):
        if text.plain == texts[place].plain:
            texts[place] = text
