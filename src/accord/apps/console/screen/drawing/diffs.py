"""Changed files as hunks of numbered lines, with the words that changed. How they look is told in `drawn_diffs`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import msgspec

from accord.apps.console.given import kind_of_file, whole_texts
from accord.apps.console.screen.drawing.pairing import partners
from accord.session.diffs import read_git_patch
from accord.session.entities import Diff, FileChange, ToolCallItem
from accord.session.matching import LineMatcher

__all__ = ["FileDiff", "Hunk", "Line", "Sign", "file_diffs", "untold_patch", "word_changes"]

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
