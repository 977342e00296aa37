"""Draws diffs: hunks of numbered lines with changed words, in one column or side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import zip_longest
from typing import Literal, TypeAlias

import msgspec
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import exact, exact_line
from accord.apps.console.screen.drawing.code import coloured_lines, language_of
from accord.apps.console.screen.drawing.line_pairs import partners
from accord.apps.console.screen.drawing.palette import Ink, Palette, folded
from accord.apps.console.screen.drawing.parts import PART_LINES, Frame, Part, first_lines, unframed
from accord.apps.console.tool_input import kind_of_file, whole_texts
from accord.local.text import max_cells
from accord.session.diffs import LineMatcher, read_git_patch
from accord.session.entities import Diff, FileChange, ToolCallItem

__all__ = [
    "LONGEST_LINE",
    "SIDE_BY_SIDE",
    "FileDiff",
    "Hunk",
    "Line",
    "Sign",
    "diff_parts",
    "draw_diff",
    "figures",
    "file_diffs",
    "file_heading",
    "untold_patch",
    "word_changes",
]

Sign: TypeAlias = Literal[" ", "-", "+"]
Span: TypeAlias = tuple[int, int]

CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_TELLS_NO_MORE = re.compile(
    r"[ +-]|diff --git |index [0-9a-f.]+(?: 100(?:644|755))?$|@@ |\\ No newline|(?:new|deleted) file mode 100644$"
    r"|similarity index |rename (?:from|to) |copy (?:from|to) |\r?$"
)
"""A line of a patch of which hunks and the names of files show all: it changes no mode, and is no binary data."""
_ELSEWHERE = re.compile(r"(?m)^(?:rename|copy) (?:from|to) (.*)")
_WORDS = re.compile(r"\w+|\s+|.")
_LONGEST_WORDED = 400
_MOST_COMPARED = 1000
"""In a longer hunk, lines are not compared with each other to find out which became which."""


class Line(msgspec.Struct):
    """One line of a hunk. `number` counts on the side that it is on, the new one for lines on both."""

    sign: Sign
    number: int
    text: str
    old_number: int = 0
    """Of a line that is on both sides."""
    pair: int = 0
    """What it shares with the line that it became, or was: the number of the new one. 0 without one."""
    other_text: str = ""
    """That of the line that it became, or was."""

    @property
    def words(self) -> list[Span]:
        """Where it differs from what it became, or was."""
        if not self.pair:
            return []
        if self.sign == "-":
            return word_changes(self.text, self.other_text)[0]
        return word_changes(self.other_text, self.text)[1]


class Hunk(msgspec.Struct):
    """Lines that follow each other."""

    lines: list[Line]
    is_paired: bool = False

    def pair(self) -> None:
        """Find out which line became which, once."""
        if not self.is_paired:
            self.is_paired = True
            _pair(self.lines, closely=len(self.lines) <= _MOST_COMPARED)


class FileDiff(msgspec.Struct):
    """How one file changed; no hunks where the agent showed none."""

    path: str
    operation: str
    hunks: list[Hunk]
    old_path: str | None = None
    kind: str = ""
    """Of the file, if it is not just text."""
    old_text: str | None = None
    """Whole, as is the new one, empty where there is no file; None where that is not known."""
    new_text: str | None = None

    @property
    def added(self) -> int:
        return sum(line.sign == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        return sum(line.sign == "-" for hunk in self.hunks for line in hunk.lines)


def file_diffs(items: Iterable[ToolCallItem]) -> list[FileDiff]:
    """All files that a tool call's content shows changes of."""
    return [diff for item in items if isinstance(item, Diff) for diff in _files(item)]


def untold_patch(diff: Diff) -> str | None:
    """A patch of which the files' hunks would not show everything; None if there is none."""
    if diff.patch is None:
        return None
    lines = diff.patch.text.split("\n")
    told = [line for file in _files(diff) for hunk in file.hunks for line in hunk.lines]
    said = [line for line in lines if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]
    are_lines_told = sorted(said) == sorted(f"{line.sign}{line.text}" for line in told if line.sign != " ")
    is_told = are_lines_told and all(map(_TELLS_NO_MORE.match, lines)) and _are_files_told(diff, diff.patch.text)
    return None if is_told else diff.patch.text


def _are_files_told(diff: Diff, patch: str) -> bool:
    """Whether each file of a patch is among the changes, also as what it is moved or copied from."""
    names = [name for change in diff.changes for name in (change.path, change.old_path) if name is not None]
    said = [name for file in read_git_patch(patch) for name in (file.path, file.old_path) if name is not None]
    said += _ELSEWHERE.findall(patch)
    return all(any(name == each or name.endswith(f"/{each}") for name in names) for each in said)


def _files(diff: Diff) -> Iterator[FileDiff]:
    sections = {} if diff.patch is None else _sections(diff.patch.text)
    for change in diff.changes:
        old_text, new_text = whole_texts(change)
        yield FileDiff(
            path=change.path,
            operation=change.operation,
            hunks=_hunks(change, _section_of(change.path, sections)),
            old_path=change.old_path,
            kind=kind_of_file(change),
            old_text=old_text,
            new_text=new_text,
        )


def _hunks(change: FileChange, section: list[str] | None) -> list[Hunk]:
    if change.old_text is not None or change.new_text is not None:
        return list(_compared(_lines(change.old_text), _lines(change.new_text)))
    return [] if section is None else list(_read(section))


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    for group in LineMatcher(old, new).get_grouped_opcodes(CONTEXT):
        lines: list[Line] = []
        for what, old_from, old_to, new_from, new_to in group:
            if what == "equal":
                lines += [
                    Line(" ", new_from + 1 + place, line, old_number=old_from + 1 + place)
                    for place, line in enumerate(new[new_from:new_to])
                ]
                continue
            lines += [Line("-", old_from + 1 + place, line) for place, line in enumerate(old[old_from:old_to])]
            lines += [Line("+", new_from + 1 + place, line) for place, line in enumerate(new[new_from:new_to])]
        yield Hunk(lines)


def _sections(patch: str) -> dict[str, list[str]]:
    """The lines of each file's part of a Git patch."""
    sections: dict[str, list[str]] = {}
    for part in re.split(r"(?m)^(?=diff --git )", patch):
        files = read_git_patch(part)
        if files:
            sections[files[0].path] = part.split("\n")
    return sections


def _section_of(path: str, sections: dict[str, list[str]]) -> list[str] | None:
    """That of the path; a patch that was made in some directory names files from there."""
    tails = (lines for name, lines in sections.items() if path.endswith(f"/{name}"))
    return sections.get(path) or next(tails, None)


def _read(section: Sequence[str]) -> Iterator[Hunk]:
    lines: list[Line] | None = None
    old = new = 0
    for text in section:
        if head := _HUNK.match(text):
            if lines:
                yield Hunk(lines)
            lines, old, new = [], int(head[1]), int(head[2])
        elif lines is None:
            continue
        elif text.startswith("-"):
            lines.append(Line("-", old, text[1:]))
            old += 1
        elif text.startswith("+"):
            lines.append(Line("+", new, text[1:]))
            new += 1
        elif text.startswith(" "):
            lines.append(Line(" ", new, text[1:], old_number=old))
            old, new = old + 1, new + 1
    if lines:
        yield Hunk(lines)


def _pair(lines: Sequence[Line], *, closely: bool) -> None:
    """Find out which line became which."""
    place = 0
    while place < len(lines):
        removed = _run(lines, place, "-")
        added = _run(lines, place + len(removed), "+")
        pairs = (
            partners([line.text for line in removed], [line.text for line in added])
            if closely
            else [(one, one) for one in range(len(removed) if len(removed) == len(added) else 0)]
        )
        for one, other in pairs:
            old, new = removed[one], added[other]
            old.pair = new.pair = new.number
            old.other_text, new.other_text = new.text, old.text
        place += max(1, len(removed) + len(added))


def _run(lines: Sequence[Line], start: int, sign: Sign) -> Sequence[Line]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def word_changes(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """The words of each line that the other one has not; none where the lines have little in common."""
    if len(old) > _LONGEST_WORDED or len(new) > _LONGEST_WORDED:
        return [], []
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.ratio() < 0.5:
        return [], []
    gone: list[Span] = []
    come: list[Span] = []
    for what, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if what != "equal":
            _add(gone, old_words, old_from, old_to)
            _add(come, new_words, new_from, new_to)
    return gone, come


def _add(spans: list[Span], words: Sequence[str], start: int, end: int) -> None:
    if start < end:
        begin = sum(map(len, words[:start]))
        spans.append((begin, begin + sum(map(len, words[start:end]))))


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
    for place, part in enumerate(folded(text, width - digits - 4, max_cells)):
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
