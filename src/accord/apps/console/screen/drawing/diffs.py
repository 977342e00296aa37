"""Draws diffs: hunks of numbered lines with changed words marked, in one column or side by side."""

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
from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.screen.drawing.code import coloured_lines, language_of
from accord.apps.console.screen.drawing.hunks import FileDiff, Hunk, Line, Sign
from accord.apps.console.screen.drawing.palette import Canvas, Palette, fold_text
from accord.apps.console.screen.drawing.parts import PART_LINES, Margin, Part, first_lines, no_margin
from accord.local.text import max_cells

_TAB = "    "
Pair: TypeAlias = tuple[Line | None, Line | None]

SIDE_BY_SIDE = 140
"""From this width of the terminal on, the old and the new file are shown side by side."""

MINUS = "\u2212"
_COLOURED, LONGEST_LINE = 2000, 50_000
"""The characters of a line that are highlighted, and that are shown at all; a note says how many were left out."""


def change_counts(added: int, removed: int, palette: Palette) -> Text:
    """The numbers of added and removed lines."""
    return Text.assemble((f"+{added}", palette.good), " ", (f"{MINUS}{removed}", palette.bad))


def file_heading(diff: FileDiff, cwd: str, palette: Palette) -> Text:
    """The file's name, its old name if it is moved, the size of the change, and the operation."""
    old_name = "" if diff.old_path is None else f"{exact_line(short_path(diff.old_path, cwd))} → "
    heading = Text.assemble((f"{old_name}{exact_line(short_path(diff.path, cwd))}  ", palette.heading))
    heading.append_text(change_counts(diff.added, diff.removed, palette))
    what = " ".join(filter(None, ["" if diff.operation == "modify" else diff.operation, diff.kind]))
    return heading.append(f"  {exact_line(what)}" if what else "", palette.muted)


def draw_diff(diff: FileDiff, canvas: Canvas, *, most: int) -> list[Strip]:
    """Draw the first `most` lines."""
    return first_lines(diff_parts(diff, canvas, lines_each=most), canvas, most)


def diff_parts(
    diff: FileDiff, canvas: Canvas, margin: Margin = no_margin, lines_each: int = PART_LINES
) -> Iterator[Part]:
    """All hunks, unified or side by side depending on the width of the terminal."""
    digits = max(3, len(str(max([line.number for hunk in diff.hunks[-1:] for line in hunk.lines], default=1))))
    gap = partial(_gap, digits)
    for index, hunk in enumerate(diff.hunks):
        if index:
            yield Part(margin(gap))
        if len(hunk.lines) <= lines_each:
            yield Part(margin(partial(_hunk, hunk, diff.path, digits)), len(hunk.lines))
            continue
        rows = _rows_of(hunk, canvas)
        for start in range(0, len(rows), lines_each):
            some = rows[start : start + lines_each]
            yield Part(margin(partial(_rows, hunk, some, diff.path, digits)), len(some))
    if not diff.hunks:
        yield Part(margin(partial(_no_hunks, exact_line(diff.operation))))


def _gap(digits: int, canvas: Canvas) -> list[Strip]:
    return [Strip([Segment(f"{'⋮':>{digits + 1}}", canvas.palette.faint)])]


def _no_hunks(operation: str, canvas: Canvas) -> list[Strip]:
    return canvas.fold(Text(f"  {operation}, contents not shown", canvas.palette.muted))


def _rows_of(hunk: Hunk, canvas: Canvas) -> Sequence[Line] | Sequence[Pair]:
    if canvas.terminal_width < SIDE_BY_SIDE:
        return hunk.lines
    hunk.pair()
    return list(_pairs(hunk.lines))


def _hunk(hunk: Hunk, path: str, digits: int, canvas: Canvas) -> list[Strip]:
    return _rows(hunk, _rows_of(hunk, canvas), path, digits, canvas)


def _rows(hunk: Hunk, rows: Sequence[Line] | Sequence[Pair], path: str, digits: int, canvas: Canvas) -> list[Strip]:
    hunk.pair()
    strips: list[Strip] = []
    each = (line for row in rows for line in (row if isinstance(row, tuple) else (row,)) if line is not None)
    lines = list({id(line): line for line in each}.values())
    texts = dict(zip(map(id, lines), _coloured(lines, path, canvas.palette), strict=True))
    for row in rows:
        if isinstance(row, tuple):
            strips += _side_by_side(*row, texts, canvas, digits)
        else:
            strips += _draw_line(row, texts[id(row)], canvas.width, digits, canvas)
    return strips


def _side_by_side(
    old: Line | None, new: Line | None, texts: Mapping[int, Text], canvas: Canvas, digits: int
) -> Iterator[Strip]:
    half = (canvas.width - 1) // 2
    blank = Strip.blank(half)
    left = [] if old is None else list(_draw_line(old, texts[id(old)], half, digits, canvas, on_left=True))
    right = [] if new is None else list(_draw_line(new, texts[id(new)], half, digits, canvas))
    for old_strip, new_strip in zip_longest(left, right, fillvalue=blank):
        yield Strip([*old_strip, Segment("│", canvas.palette.faint), *new_strip])


def _pairs(lines: Sequence[Line]) -> Iterator[Pair]:
    """The rows of a side-by-side diff: an unchanged line twice, a pair, or lines without a pair in their order."""
    removed: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.sign == "-":
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            yield from _changed_pairs(removed, added)
            removed, added = [], []
            yield line, line
    yield from _changed_pairs(removed, added)


def _changed_pairs(removed: Sequence[Line], added: Sequence[Line]) -> Iterator[Pair]:
    old_start = new_start = 0
    new_indexes = {line.pair: index for index, line in enumerate(added) if line.pair}
    for old_index, line in enumerate(removed):
        if line.pair in new_indexes:
            new_index = new_indexes[line.pair]
            yield from zip_longest(removed[old_start:old_index], added[new_start:new_index])
            yield line, added[new_index]
            old_start, new_start = old_index + 1, new_index + 1
    yield from zip_longest(removed[old_start:], added[new_start:])


def _draw_line(
    line: Line, text: Text, width: int, digits: int, canvas: Canvas, *, on_left: bool = False
) -> Iterator[Strip]:
    palette = canvas.palette
    count = line.old_number if on_left and line.sign == " " else line.number
    ground = {"+": palette.added, "-": palette.removed}.get(line.sign, Style())
    mark = {"+": palette.good, "-": palette.bad}.get(line.sign, palette.faint)
    for index, part in enumerate(fold_text(text, width - digits - 4, max_cells)):
        number = f" {count:>{digits}} " if index == 0 else " " * (digits + 2)
        sign = line.sign if index == 0 else " "
        strip = canvas.strip(part).extend_cell_length(width - digits - 4)
        yield Strip(
            [Segment(number, palette.muted + ground), Segment(f"{sign} ", mark + ground), *strip.apply_style(ground)]
        )


def _coloured(lines: Sequence[Line], path: str, palette: Palette) -> list[Text]:
    """The lines with syntax highlighting and the changed words marked."""
    cleaned = [exact(line.text[:_COLOURED], tab=_TAB) for line in lines]
    texts = [Text(text, no_wrap=True) for text in cleaned]
    # Without background colours, a changed line has only the colour of its sign.
    signs: tuple[tuple[Sign, ...], ...] = ((" ", "+"), ("-",)) if palette.grounds else ((" ",),)
    for each in signs:
        _colour(texts, [index for index, line in enumerate(lines) if line.sign in each], path, palette)
    for line, text in zip(lines, texts, strict=True):
        word = palette.added_word if line.sign == "+" else palette.removed_word
        if len(text) == len(line.text):  # no character was escaped, so the words have kept their offsets
            for start, end in line.words:
                text.stylize(word, start, end)
        text.append(exact(line.text[_COLOURED:LONGEST_LINE], tab=_TAB))
        if len(line.text) > LONGEST_LINE:
            text.append(f" … {len(line.text) - LONGEST_LINE} more characters", palette.warning)
    return texts


def _colour(texts: list[Text], indexes: Sequence[int], path: str, palette: Palette) -> None:
    if not indexes:
        return
    source = "\n".join(texts[index].plain for index in indexes)
    for index, text in zip(indexes, coloured_lines(source, language_of(path), palette), strict=False):
        if text.plain == texts[index].plain:
            texts[index] = text
