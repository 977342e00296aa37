"""Vim's normal mode for the prompt: counts, motions, operators and one register.

It does not know the editor: it gets the lines and the cursor with each key, and returns what to do. A location is a row
and a column, both from zero.

Law: what is not a command does nothing, and Esc forgets what was typed of a command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

Location: TypeAlias = tuple[int, int]

_COMMAND = re.compile(
    r"(?P<count>[1-9][0-9]*)?"
    r"(?:(?P<operator>[dcy])(?P<more>[1-9][0-9]*)?(?P<motion>gg|[hjklwbeG0^$dcy])|(?P<move>gg|[hjklwbeG0^$])"
    r"|(?P<command>[iaIAoOxXDCYpPu]))"
)
_BEGINNING = re.compile(r"(?:[1-9][0-9]*)?(?:[dcy](?:[1-9][0-9]*)?)?g?")
_MOST = 10_000
"""A count that is larger means this: no prompt is longer."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the text from `start` to `end` if there is a `start`, then move the cursor, and undo so many changes.

    `leaves` is -1 or 1 if the cursor would leave the text at the top or the bottom.
    """

    cursor: Location | None = None
    start: Location | None = None
    end: Location = (0, 0)
    text: str = ""
    undo: int = 0
    leaves: int = 0


class _Range(NamedTuple):
    start: Location
    end: Location
    is_of_lines: bool = False


class VimKeys:
    """The mode, the command that is being typed, and the register."""

    def __init__(self) -> None:
        self.is_normal = False
        self._typed = ""
        self._register = ""
        self._has_lines = False
        """The register holds whole lines."""
        self._column: int | None = None
        """The column that `j` and `k` keep to, also across shorter lines."""

    @property
    def label(self) -> str:
        """The mode, and what was typed of a command."""
        return f"{'NORMAL' if self.is_normal else 'INSERT'} {self._typed}".rstrip()

    @property
    def is_pending(self) -> bool:
        """Whether a command was begun."""
        return bool(self._typed)

    def insert(self) -> None:
        """Go to insert mode."""
        self.is_normal, self._typed = False, ""

    def escape(self, cursor: Location) -> Location:
        """Go to normal mode, and forget what was typed of a command; returns where the cursor goes."""
        was_normal, self.is_normal, self._typed = self.is_normal, True, ""
        return cursor if was_normal else (cursor[0], max(0, cursor[1] - 1))

    def press(self, character: str, lines: Sequence[str], cursor: Location) -> Step | None:
        """A character was typed in normal mode; returns what a complete command does."""
        self._typed += character
        match = _COMMAND.fullmatch(self._typed)
        if match is None:
            if not _BEGINNING.fullmatch(self._typed):
                self._typed = ""
            return None
        self._typed = ""
        count = None if match["count"] is None else min(int(match["count"]), _MOST)
        text = _Text(lines, cursor)
        if match["operator"]:
            self._column = None
            counts = [int(each) for each in (match["count"], match["more"]) if each]
            return self._operate(
                text, match["operator"], match["motion"], min(_product(counts), _MOST) if counts else None
            )
        if match["move"]:
            return self._move(text, match["move"], count)
        self._column = None
        return self._command(text, match["command"], count or 1)

    def _move(self, text: _Text, motion: str, count: int | None) -> Step | None:
        if motion in "jk" and count is None and text.row == (0 if motion == "k" else len(text.lines) - 1):
            return Step(leaves=-1 if motion == "k" else 1)
        if motion in "jk":
            row = text.target_row(motion, count)
            self._column = column = text.column if self._column is None else self._column
        else:
            target = text.target(motion, count)
            if target is None:
                return None
            row, column = text.location_of(target)
            self._column = _MOST if motion == "$" else None
        return Step(cursor=(row, min(column, max(0, len(text.lines[row]) - 1))))

    def _operate(self, text: _Text, operator: str, motion: str, count: int | None) -> Step | None:
        if motion in "dcy":
            last = min(text.row + (count or 1) - 1, len(text.lines) - 1)
            is_possible = motion == operator and ((count or 1) == 1 or text.row < last)
            return self._apply_to_lines(text, operator, text.row, last, text.cursor) if is_possible else None
        if operator == "c" and motion == "w" and not text.is_blank(text.index):
            motion = "cw"  # as vim does: it leaves the blanks after the word
        found = text.range(motion, count)
        if found is None:
            return None
        if not found.is_of_lines:
            return self._apply(text, operator, found)
        return self._apply_to_lines(text, operator, found.start[0], found.end[0], found.start)

    def _apply(self, text: _Text, operator: str, found: _Range) -> Step:
        if operator == "d" and text.is_whole_lines(found):
            return self._apply_to_lines(text, operator, found.start[0], found.end[0], found.start)
        covered = text.between(found.start, found.end)
        if covered or operator == "y":
            self._register, self._has_lines = covered, False
        if operator == "y":
            return Step(cursor=found.start)
        self.is_normal = operator == "d"
        line = text.lines[found.start[0]][: found.start[1]] + text.lines[found.end[0]][found.end[1] :]
        column = min(found.start[1], max(0, len(line) - 1)) if self.is_normal else found.start[1]
        return Step(start=found.start, end=found.end, cursor=(found.start[0], column))

    def _apply_to_lines(self, text: _Text, operator: str, first: int, last: int, start: Location) -> Step:
        lines = text.lines
        self._register, self._has_lines = "\n".join(lines[first : last + 1]), True
        if operator == "y":
            return Step(cursor=(first, min(start[1], max(0, len(lines[first]) - 1))))
        end = (last, len(lines[last]))
        if operator == "c":
            self.is_normal = False
            return Step(start=(first, 0), end=end, cursor=(first, 0))
        if last + 1 < len(lines):
            return Step(start=(first, 0), end=(last + 1, 0), cursor=(first, _indent(lines[last + 1])))
        if first > 0:
            before = lines[first - 1]
            return Step(start=(first - 1, len(before)), end=end, cursor=(first - 1, _indent(before)))
        return Step(start=(0, 0), end=end, cursor=(0, 0))

    def _command(self, text: _Text, command: str, count: int) -> Step | None:
        row, column = text.row, text.column
        line = text.lines[row]
        match command:
            case "i" | "a" | "I" | "A":
                self.is_normal = False
                places = {
                    "i": column,
                    "a": min(column + 1, len(line)),
                    "I": len(line) - len(line.lstrip()),
                    "A": len(line),
                }
                return Step(cursor=(row, places[command]))
            case "o" | "O":
                self.is_normal = False
                place = (row, len(line)) if command == "o" else (row, 0)
                return Step(start=place, end=place, text="\n", cursor=(row + (command == "o"), 0))
            case "x" | "X":
                first, last = (column, column + count) if command == "x" else (column - count, column)
                span = _Range((row, max(0, first)), (row, min(len(line), last)))
                return None if span.start == span.end else self._apply(text, "d", span)
            case "D" | "C":
                return self._operate(text, command.lower(), "$", count)
            case "Y":
                return self._operate(text, "y", "y", count)
            case "p" | "P":
                return self._put(text, count, is_after=command == "p")
            case _:
                return Step(undo=count)

    def _put(self, text: _Text, count: int, *, is_after: bool) -> Step | None:
        row, column = text.row, text.column
        line = text.lines[row]
        if not self._register and not self._has_lines:
            return None
        if self._has_lines:
            added = "\n".join([self._register] * count)
            place = (row, len(line)) if is_after else (row, 0)
            shown = f"\n{added}" if is_after else f"{added}\n"
            return Step(start=place, end=place, text=shown, cursor=(row + is_after, _indent(added.split("\n", 1)[0])))
        added = self._register * count
        place = (row, min(column + 1, len(line)) if is_after else column)
        cursor = place if "\n" in added else (row, place[1] + len(added) - 1)
        return Step(start=place, end=place, text=added, cursor=cursor)


class _Text:
    """The lines and the cursor, also as one text and an index in it."""

    def __init__(self, lines: Sequence[str], cursor: Location) -> None:
        self.lines = lines
        self.cursor = self.row, self.column = cursor
        self.whole = "\n".join(lines)
        self.index = self.index_of(cursor)

    def index_of(self, location: Location) -> int:
        return sum(len(line) + 1 for line in self.lines[: location[0]]) + location[1]

    def location_of(self, index: int) -> Location:
        before = self.whole[:index]
        return before.count("\n"), index - before.rfind("\n") - 1

    def between(self, start: Location, end: Location) -> str:
        return self.whole[self.index_of(start) : self.index_of(end)]

    def is_blank(self, index: int) -> bool:
        return _kind(self.whole[index : index + 1]) == "blank"

    def is_whole_lines(self, found: _Range) -> bool:
        """Whether a range in several lines has nothing but blanks before and after it: `d` then deletes the lines."""
        (first, start), (last, end) = found.start, found.end
        return first != last and not self.lines[first][:start].strip() and not self.lines[last][end:].strip()

    def range(self, motion: str, count: int | None) -> _Range | None:
        """What an operator with this motion covers; None if the motion is impossible."""
        if motion in ("j", "k", "gg", "G"):
            row = self.target_row(motion, count)
            target = (row, self.column if motion in "jk" else _indent(self.lines[row]))
            if motion in "jk" and row == self.row:
                return None
            return _Range(*sorted((self.cursor, target)), is_of_lines=True)
        if motion == "$":
            row = self._last_row(count or 1)
            return None if row is None else _Range(self.cursor, (row, len(self.lines[row])))
        end = self._operated(motion, count or 1)
        if end is None:
            return None
        start, end = sorted((self.cursor, self.location_of(end)))
        row = end[0]
        if motion == "w" and start == end and not self.lines[row] and row + 1 < len(self.lines):
            return _Range(start, end, is_of_lines=True)  # an empty line is a word
        if motion == "b" and start[0] < row and end[1] == 0:  # it does not end at the beginning of a line
            is_of_lines = start[1] <= _indent(self.lines[start[0]])
            return _Range(start, (row - 1, len(self.lines[row - 1])), is_of_lines=is_of_lines)
        return _Range(start, end)

    def _operated(self, motion: str, count: int) -> int | None:
        """The index that an operator goes to."""
        if motion == "l":
            return self.index + min(count, len(self.lines[self.row]) - self.column)
        if motion == "cw":
            index = self._last_of_kind(self.index)
            for _ in range(count - 1):
                index = self._word_end(index)
            return index + 1
        if motion == "w":
            index = self.index
            for _ in range(count - 1):
                index = self._next_word(index)
            return min(self._next_word(index), self._line_end(index))  # the last word without the end of its line
        target = self.target(motion, count)
        if target is None or (motion == "b" and target == self.index):
            return None
        return min(target + 1, len(self.whole)) if motion == "e" else target

    def target(self, motion: str, count: int | None) -> int | None:
        """The index of a motion; None if it is impossible."""
        line, times = self.lines[self.row], count or 1
        match motion:
            case "h":
                return self.index - min(times, self.column)
            case "l":
                return self.index + min(times, max(0, len(line) - 1 - self.column))
            case "0" | "^":
                return self.index - self.column + (_indent(line) if motion == "^" else 0)
            case "$":
                row = self._last_row(times)
                return None if row is None else self.index_of((row, max(0, len(self.lines[row]) - 1)))
            case "w" | "b" | "e":
                step = {"w": self._next_word, "b": self._word_before, "e": self._word_end}[motion]
                index = self.index
                for _ in range(times):
                    index = step(index)
                return index
            case _:
                row = self.target_row(motion, count)
                return self.index_of((row, _indent(self.lines[row])))

    def target_row(self, motion: str, count: int | None) -> int:
        """The row of a motion between lines."""
        rows = {
            "j": self.row + (count or 1),
            "k": self.row - (count or 1),
            "gg": (count or 1) - 1,
            "G": len(self.lines) - 1 if count is None else count - 1,
        }
        return min(max(rows[motion], 0), len(self.lines) - 1)

    def _last_row(self, count: int) -> int | None:
        """The last of so many lines; None if there is only one of several."""
        last = len(self.lines) - 1
        return None if count > 1 and self.row == last else min(self.row + count - 1, last)

    def _next_word(self, index: int) -> int:
        text = self.whole
        kind = _kind(text[index : index + 1])
        while index < len(text) and kind != "blank" and _kind(text[index]) == kind:
            index += 1
        while index < len(text) and _kind(text[index]) == "blank":
            index += 1
            if text[index - 1 : index + 1] == "\n\n":
                break  # an empty line is a word
        return index

    def _word_end(self, index: int) -> int:
        text = self.whole
        last = len(text) if text.endswith("\n") or not text else len(text) - 1
        index = min(index + 1, last)
        while index < last and _kind(text[index]) == "blank":
            index += 1
        return self._last_of_kind(index)

    def _line_end(self, index: int) -> int:
        end = self.whole.find("\n", index)
        return len(self.whole) if end < 0 else end

    def _last_of_kind(self, index: int) -> int:
        """The end of the word, or of the signs, at an index."""
        text = self.whole
        while index + 1 < len(text) and _kind(text[index + 1]) == _kind(text[index]):
            index += 1
        return index

    def _word_before(self, index: int) -> int:
        text = self.whole
        index = max(0, index - 1)
        while index > 0 and _kind(text[index]) == "blank" and text[index - 1 : index + 1] != "\n\n":
            index -= 1
        while index > 0 and _kind(text[index]) != "blank" and _kind(text[index - 1]) == _kind(text[index]):
            index -= 1
        return index


def _kind(character: str) -> Literal["word", "sign", "blank"]:
    if not character or character.isspace():
        return "blank"
    return "word" if character.isalnum() or character == "_" else "sign"


def _indent(line: str) -> int:
    return min(len(line) - len(line.lstrip()), max(0, len(line) - 1))


def _product(numbers: Sequence[int]) -> int:
    result = 1
    for number in numbers:
        result = min(result * number, _MOST)
    return result
