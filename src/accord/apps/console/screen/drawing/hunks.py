"""File changes as hunks of numbered lines, and which removed line became which added one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import msgspec

from accord.apps.console.tool_input import file_type_text, full_texts
from accord.session.diffs import LineMatcher, read_git_patch
from accord.session.entities import Diff, FileChange, ToolCallItem

Sign: TypeAlias = Literal[" ", "-", "+"]
Span: TypeAlias = tuple[int, int]

CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_SHOWN_BY_HUNKS = re.compile(
    r"[ +-]|diff --git |index [0-9a-f.]+(?: 100(?:644|755))?$|@@ |\\ No newline|(?:new|deleted) file mode 100644$"
    r"|similarity index |rename (?:from|to) |copy (?:from|to) |\r?$"
)
"""A patch line that hunks and file names show completely: it changes no mode and is not binary data."""
_OTHER_NAMES = re.compile(r"(?m)^(?:rename|copy) (?:from|to) (.*)")
_WORDS = re.compile(r"\w+|\s+|.")
_LONGEST_WORDED = 400
_MOST_COMPARED = 1000
"""In a longer hunk, lines are not compared to find pairs."""


class Line(msgspec.Struct):
    """One line of a hunk. `number` is its line number in its file; in the new file for an unchanged line."""

    sign: Sign
    number: int
    text: str
    old_number: int = 0
    """The number of an unchanged line in the old file."""
    pair: int = 0
    """The same for a removed line and the added line that replaced it: the number of the latter. 0 without a pair."""
    other_text: str = ""
    """The text of the other line of the pair."""

    @property
    def words(self) -> list[Span]:
        """Where it differs from the other line of its pair."""
        if not self.pair:
            return []
        if self.sign == "-":
            return word_changes(self.text, self.other_text)[0]
        return word_changes(self.other_text, self.text)[1]


class Hunk(msgspec.Struct):
    """Consecutive lines."""

    lines: list[Line]
    is_paired: bool = False

    def pair(self) -> None:
        """Pair removed lines with the lines that replaced them. Does the work once."""
        if not self.is_paired:
            self.is_paired = True
            _pair(self.lines, compare=len(self.lines) <= _MOST_COMPARED)


class FileDiff(msgspec.Struct):
    """The change of one file; no hunks if the agent showed none."""

    path: str
    operation: str
    hunks: list[Hunk]
    old_path: str | None = None
    kind: str = ""
    """The kind of file, if it is not text."""
    old_text: str | None = None
    """The complete old text, empty for a new file; None if unknown. Likewise the new text."""
    new_text: str | None = None

    @property
    def added(self) -> int:
        return sum(line.sign == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        return sum(line.sign == "-" for hunk in self.hunks for line in hunk.lines)


def file_diffs(items: Iterable[ToolCallItem]) -> list[FileDiff]:
    """All file changes in the content of a tool call."""
    return [diff for item in items if isinstance(item, Diff) for diff in _files(item)]


def unshown_patch(diff: Diff) -> str | None:
    """The patch, if the hunks do not show all of it."""
    if diff.patch is None:
        return None
    lines = diff.patch.text.split("\n")
    shown = [line for file in _files(diff) for hunk in file.hunks for line in hunk.lines]
    changes = [line for line in lines if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]
    are_lines_shown = sorted(changes) == sorted(f"{line.sign}{line.text}" for line in shown if line.sign != " ")
    is_shown = are_lines_shown and all(map(_SHOWN_BY_HUNKS.match, lines)) and _are_files_shown(diff, diff.patch.text)
    return None if is_shown else diff.patch.text


def _are_files_shown(diff: Diff, patch: str) -> bool:
    """Whether the changes name each file of a patch, including the source of a move or copy."""
    names = [name for change in diff.changes for name in (change.path, change.old_path) if name is not None]
    required = [name for file in read_git_patch(patch) for name in (file.path, file.old_path) if name is not None]
    required += _OTHER_NAMES.findall(patch)
    return all(any(name == each or name.endswith(f"/{each}") for name in names) for each in required)


def _files(diff: Diff) -> Iterator[FileDiff]:
    sections = {} if diff.patch is None else _sections(diff.patch.text)
    for change in diff.changes:
        old_text, new_text = full_texts(change)
        yield FileDiff(
            path=change.path,
            operation=change.operation,
            hunks=_hunks(change, _section_of(change.path, sections)),
            old_path=change.old_path,
            kind=file_type_text(change),
            old_text=old_text,
            new_text=new_text,
        )


def _hunks(change: FileChange, section: list[str] | None) -> list[Hunk]:
    if change.old_text is not None or change.new_text is not None:
        return list(_compare(_split(change.old_text), _split(change.new_text)))
    return [] if section is None else list(_parse(section))


def _split(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    for group in LineMatcher(old, new).get_grouped_opcodes(CONTEXT):
        lines: list[Line] = []
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [
                    Line(" ", new_from + 1 + index, line, old_number=old_from + 1 + index)
                    for index, line in enumerate(new[new_from:new_to])
                ]
                continue
            lines += [Line("-", old_from + 1 + index, line) for index, line in enumerate(old[old_from:old_to])]
            lines += [Line("+", new_from + 1 + index, line) for index, line in enumerate(new[new_from:new_to])]
        yield Hunk(lines)


def _sections(patch: str) -> dict[str, list[str]]:
    """The lines of each file in a Git patch."""
    sections: dict[str, list[str]] = {}
    for part in re.split(r"(?m)^(?=diff --git )", patch):
        files = read_git_patch(part)
        if files:
            sections[files[0].path] = part.split("\n")
    return sections


def _section_of(path: str, sections: dict[str, list[str]]) -> list[str] | None:
    """The section of a path. The patch may name files relative to some directory."""
    tails = (lines for name, lines in sections.items() if path.endswith(f"/{name}"))
    return sections.get(path) or next(tails, None)


def _parse(section: Sequence[str]) -> Iterator[Hunk]:
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


def _pair(lines: Sequence[Line], *, compare: bool) -> None:
    index = 0
    while index < len(lines):
        removed = _run(lines, index, "-")
        added = _run(lines, index + len(removed), "+")
        if compare:
            pairs = match_lines([line.text for line in removed], [line.text for line in added])
        else:
            pairs = [(each, each) for each in range(len(removed) if len(removed) == len(added) else 0)]
        for old_index, new_index in pairs:
            old, new = removed[old_index], added[new_index]
            old.pair = new.pair = new.number
            old.other_text, new.other_text = new.text, old.text
        index += max(1, len(removed) + len(added))


def _run(lines: Sequence[Line], start: int, sign: Sign) -> Sequence[Line]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def word_changes(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """The words of each line that the other does not have; none if the lines have little in common."""
    if len(old) > _LONGEST_WORDED or len(new) > _LONGEST_WORDED:
        return [], []
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.ratio() < 0.5:
        return [], []
    removed: list[Span] = []
    added: list[Span] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            _add(removed, old_words, old_from, old_to)
            _add(added, new_words, new_from, new_to)
    return removed, added


def _add(spans: list[Span], words: Sequence[str], start: int, end: int) -> None:
    if start < end:
        begin = sum(map(len, words[:start]))
        spans.append((begin, begin + sum(map(len, words[start:end]))))


SIMILAR = 0.5
_MOST_PAIRS = 400
"""The most comparisons of two lines; a change that needs more of them is a different text."""
_WORD = re.compile(r"\w+|[^\w\s]")


def match_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The indexes of old lines and the new lines that replaced them, in order. Equally many lines are paired one by one."""
    if len(old) == len(new):
        return [(index, index) for index in range(len(old))]
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return []
    similarity = _similarity(old, new)
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for row in reversed(range(len(old))):
        for column in reversed(range(len(new))):
            score = similarity[row][column]
            paired = score + best[row + 1][column + 1] if score >= SIMILAR else 0.0
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    return _trace(best)


def _trace(best: list[list[float]]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    row = column = 0
    while row < len(best) - 1 and column < len(best[0]) - 1:
        if best[row][column] == best[row + 1][column]:
            row += 1
        elif best[row][column] == best[row][column + 1]:
            column += 1
        else:
            pairs.append((row, column))
            row, column = row + 1, column + 1
    return pairs


def _similarity(old: Sequence[str], new: Sequence[str]) -> list[list[float]]:
    """The share of common words of each two lines, from 0 to 1."""
    old_words, new_words = ([Counter(_WORD.findall(line)) for line in lines] for lines in (old, new))
    return [[2 * (a & b).total() / max(1, a.total() + b.total()) for b in new_words] for a in old_words]
