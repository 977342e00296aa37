"""Diffs as lines: one column, or old and new side by side where there is room for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitising import exact, exact_line
from accord.apps.console.screen.drawing.code import coloured_lines, language_of
from accord.apps.console.screen.drawing.diffs import FileDiff, Hunk, Line, Sign
from accord.apps.console.screen.drawing.ink import Ink, Palette, folded
from accord.apps.console.screen.drawing.parts import PART_LINES, Frame, Part, first_lines, unframed
from accord.local.letters import most_cells

__all__ = ["LONGEST_LINE", "SIDE_BY_SIDE", "diff_parts", "draw_diff", "figures", "file_heading"]

_TAB = "    "
Pair: TypeAlias = tuple[Line | None, Line | None]

SIDE_BY_SIDE = 140
"""From this width on, old and new stand beside each other."""

MINUS = "\u2212"
_COLOURED, LONGEST_LINE = 2000, 50_000
"""So many letters of a line have colours; what goes beyond the second is left out, and said to be."""


def figures(added: int, removed: int, palette: Palette) -> Text:
    """How much came and went."""
    return Text.assemble((f"+{added}", palette.good), " ", (f"{MINUS}{removed}", palette.bad))


def file_heading(diff: FileDiff, cwd: str, palette: Palette) -> Text:
    """Which file it is, where it comes from if it is moved, and what becomes of it."""
    moved = "" if diff.old_path is None else f"{exact_line(short_path(diff.old_path, cwd))} → "
    name = Text(f"{moved}{exact_line(short_path(diff.path, cwd))}  ", palette.heading)
    what = " ".join(filter(None, ["" if diff.operation == "modify" else diff.operation, diff.kind]))
    figured = name.append_text(figures(diff.added, diff.removed, palette))
    return figured.append(f"  {exact_line(what)}" if what else "", palette.muted)


def draw_diff(diff: FileDiff, ink: Ink, *, most: int) -> list[Strip]:
    """The first lines of the hunks, about so many."""
    return first_lines(diff_parts(diff, ink.width, lines_each=most), ink, most)


def diff_parts(diff: FileDiff, width: int, frame: Frame = unframed, lines_each: int = PART_LINES) -> Iterator[Part]:
    """All hunks, for a page of this width: unified, or side by side."""
    digits = max(3, len(str(max([line.number for hunk in diff.hunks[-1:] for line in hunk.lines], default=1))))
    gap = partial(_gap, digits)
    for place, hunk in enumerate(diff.hunks):
        if place:
            yield Part(frame(gap))
        if len(hunk.lines) <= lines_each:
            yield Part(frame(partial(_hunk, hunk, diff.path, digits)), len(hunk.lines))
            continue
        rows = _rows_of(hunk, width)
        for start in range(0, len(rows), lines_each):
            page = rows[start : start + lines_each]
            yield Part(frame(partial(_rows, hunk, page, diff.path, digits)), len(page))
    if not diff.hunks:
        yield Part(frame(partial(_nothing, exact_line(diff.operation))))


def _gap(digits: int, ink: Ink) -> list[Strip]:
    return [Strip([Segment(f"{'⋮':>{digits + 1}}", ink.palette.faint)])]


def _nothing(operation: str, ink: Ink) -> list[Strip]:
    return ink.folded(Text(f"  {operation}, contents not shown", ink.palette.muted))


def _rows_of(hunk: Hunk, width: int) -> Sequence[Line] | Sequence[Pair]:
    if width < SIDE_BY_SIDE:
        return hunk.lines
    hunk.pair()
    return list(_pairs(hunk.lines))


def _hunk(hunk: Hunk, path: str, digits: int, ink: Ink) -> list[Strip]:
    return _rows(hunk, _rows_of(hunk, ink.width), path, digits, ink)


def _rows(hunk: Hunk, rows: Sequence[Line] | Sequence[Pair], path: str, digits: int, ink: Ink) -> list[Strip]:
    hunk.pair()
    strips: list[Strip] = []
    each = (line for row in rows for line in (row if isinstance(row, tuple) else (row,)) if line is not None)
    lines = list({id(line): line for line in each}.values())
    texts = dict(zip(map(id, lines), _coloured(lines, path, ink.palette), strict=True))
    for row in rows:
        if isinstance(row, tuple):
            strips += _beside(*row, texts, ink, digits)
        else:
            strips += _drawn(row, texts[id(row)], ink.width, digits, ink)
    return strips


def _beside(old: Line | None, new: Line | None, texts: Mapping[int, Text], ink: Ink, digits: int) -> Iterator[Strip]:
    half = (ink.width - 1) // 2
    blank = Strip.blank(half)
    left = [] if old is None else list(_drawn(old, texts[id(old)], half, digits, ink, on_left=True))
    right = [] if new is None else list(_drawn(new, texts[id(new)], half, digits, ink))
    for one, other in zip_longest(left, right, fillvalue=blank):
        yield Strip([*one, Segment("│", ink.palette.faint), *other])


def _pairs(lines: Sequence[Line]) -> Iterator[Pair]:
    """What stands beside what: the same line, one and what became of it, or just what is next."""
    removed: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.sign == "-":
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            yield from _changed(removed, added)
            removed, added = [], []
            yield line, line
    yield from _changed(removed, added)


def _changed(removed: Sequence[Line], added: Sequence[Line]) -> Iterator[Pair]:
    before = after = 0
    new_places = {line.pair: place for place, line in enumerate(added) if line.pair}
    for place, line in enumerate(removed):
        if line.pair in new_places:
            yield from zip_longest(removed[before:place], added[after : new_places[line.pair]])
            yield line, added[new_places[line.pair]]
            before, after = place + 1, new_places[line.pair] + 1
    yield from zip_longest(removed[before:], added[after:])


def _drawn(line: Line, text: Text, width: int, digits: int, ink: Ink, *, on_left: bool = False) -> Iterator[Strip]:
    palette = ink.palette
    count = line.old_number if on_left and line.sign == " " else line.number
    ground = {"+": palette.added, "-": palette.removed}.get(line.sign, Style())
    mark = {"+": palette.good, "-": palette.bad}.get(line.sign, palette.faint)
    for place, part in enumerate(folded(text, width - digits - 4, most_cells)):
        number = f" {count:>{digits}} " if place == 0 else " " * (digits + 2)
        sign = line.sign if place == 0 else " "
        strip = ink.strip(part).extend_cell_length(width - digits - 4)
        yield Strip(
            [Segment(number, palette.muted + ground), Segment(f"{sign} ", mark + ground), *strip.apply_style(ground)]
        )


def _coloured(lines: Sequence[Line], path: str, palette: Palette) -> list[Text]:
    """The lines' texts with the colours of their language and the changed words marked."""
    cleaned = [exact(line.text[:_COLOURED], tab=_TAB) for line in lines]
    texts = [Text(text, no_wrap=True) for text in cleaned]
    # Where there is no ground to tell them apart, a changed line has the colour of its sign, and no other.
    signs: tuple[tuple[Sign, ...], ...] = ((" ", "+"), ("-",)) if palette.grounds else ((" ",),)
    for each in signs:
        _colour(texts, [place for place, line in enumerate(lines) if line.sign in each], path, palette)
    for line, text in zip(lines, texts, strict=True):
        word = palette.added_word if line.sign == "+" else palette.removed_word
        if len(text) == len(line.text):  # nothing was put in another thing's place, so the words are where they were
            for start, end in line.words:
                text.stylize(word, start, end)
        text.append(exact(line.text[_COLOURED:LONGEST_LINE], tab=_TAB))
        if len(line.text) > LONGEST_LINE:
            text.append(f" … {len(line.text) - LONGEST_LINE} more letters", palette.warning)
    return texts


def _colour(texts: list[Text], places: Sequence[int], path: str, palette: Palette) -> None:
    if not places:
        return
    source = "\n".join(texts[place].plain for place in places)
    for place, text in zip(places, coloured_lines(source, language_of(path), palette), strict=False):
        if text.plain == texts[place].plain:
            texts[place] = text
