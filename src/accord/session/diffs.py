"""File changes as Git patches and back, and line matching between two texts.

The patch is what `git diff -p` writes, except that paths are absolute and have no `a/` and `b/` before them. Reading
takes what it understands and never fails: a patch only illustrates the list of changes it comes with.

difflib alone can take time that grows with the square of the lines, and a peer chooses the lines. So the lines that
occur once in both texts are matched first, and difflib only gets the short stretches between them; a long stretch
that has no such line counts as rewritten.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import Match, SequenceMatcher

from accord.session.entities import Diff, DiffPatch, FileChange

GIT_PATCH = "git_patch"

CONTEXT = 3

_NOWHERE = "/dev/null"
_NO_NEWLINE = "\\ No newline at end of file\n"
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_UNESCAPES = {letter: code for code, letter in _ESCAPES.items()}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,12}))? \+\d+(?:,(\d{1,12}))? @@")
_PLACED_HUNK = re.compile(r"@@ -(\d{1,12})(?:,(\d{1,12}))? \+\d{1,12}(?:,(\d{1,12}))? @@")
_HEADER = re.compile(r"=*|index [0-9a-f]+\.\.[0-9a-f]+(?: [0-7]{6})?|(?:new|deleted) file mode [0-7]{6}")


def diff_text(diff: Diff) -> str:
    """A diff as a patch, to be shown, whichever way it came: as a patch, or with the texts of the files."""
    if diff.patch is not None:
        return diff.patch.text
    return "".join(git_patch(change.path, change.old_text, change.new_text) for change in diff.changes)


def git_patch(path: str, old_text: str | None, new_text: str | None) -> str:
    """The section of a patch that tells how a file changed; None is a file that is not there. No change, no section."""
    if old_text == new_text:
        return ""
    name = _quoted(path)
    section = [f"diff --git {name} {name}\n"]
    if old_text is None:
        section.append("new file mode 100644\n")
    elif new_text is None:
        section.append("deleted file mode 100644\n")
    hunks = list(_hunks(_lines(old_text or ""), _lines(new_text or "")))
    if hunks:
        label = f"{name}\t" if " " in name else name
        section.append(f"--- {_NOWHERE if old_text is None else label}\n")
        section.append(f"+++ {_NOWHERE if new_text is None else label}\n")
    return "".join([*section, *hunks])


def texts_of_patch(patch: DiffPatch) -> dict[str, tuple[str | None, str | None]]:
    """By path, the old and new text of the files of which a patch shows some: only the lines that it shows."""
    if patch.format != GIT_PATCH:
        return {}
    changes = read_git_patch(patch.text)
    return {
        each.path: (each.old_text, each.new_text) for each in changes if (each.old_text, each.new_text) != (None, None)
    }


def read_git_patch(text: str) -> list[FileChange]:
    """The files that a patch changes. The texts hold the lines that it shows, so they are partial; None where it shows none."""
    lines = _lines(text)
    sections: list[_Section] = []
    place = 0
    while place < len(lines):
        line = lines[place].rstrip("\r\n")
        place += 1
        if line.startswith("diff --git "):
            sections.append(_Section(*_names_of_header(line[11:])))
        elif line.startswith("--- ") and place < len(lines) and lines[place].startswith("+++ "):
            if not sections or sections[-1].labelled:
                sections.append(_Section(None, None))
            sections[-1].label(_name(line[4:]), _name(lines[place].rstrip("\r\n")[4:]))
            place += 1
        elif sections and (hunk := _HUNK.match(line)):
            place = sections[-1].read_hunk(lines, place, int(hunk[1] or 1), int(hunk[2] or 1))
        elif sections:
            sections[-1].read_header(line)
    changes = [section.change() for section in sections]
    return [change for change in changes if change is not None]


def texts_after_patch(text: str, old_text: Callable[[str], str | None]) -> dict[str, str] | None:
    """By path, what each file becomes by a patch; None if it does not fit `old_text`, or holds anything but changes."""
    lines, place = _lines(text), 0
    files: dict[str, _PatchedFile] = {}
    while place < len(lines):
        line = lines[place].rstrip("\r\n")
        place += 1
        if line.startswith("--- ") and place < len(lines) and lines[place].startswith("+++ "):
            labels = line[4:], lines[place].rstrip("\r\n")[4:]
            name = _name(labels[1]) or _name(labels[0]) or ""
            old = old_text(name)
            if old is None or name in files or any(label.partition("\t")[2] for label in labels):
                return None
            files[name] = _PatchedFile(_lines(old))
            place += 1
        elif files and (hunk := _PLACED_HUNK.fullmatch(line)):
            file = next(reversed(files.values()))
            end = file.take(lines, place, int(hunk[1]), int(hunk[2] or 1), int(hunk[3] or 1))
            if end is None:
                return None
            place = end
        elif not _HEADER.fullmatch(line) and not _names_files(line, old_text):
            return None
    return {name: file.text for name, file in files.items()} if files else None


def _names_files(header: str, old_text: Callable[[str], str | None]) -> bool:
    """Whether a line does no more than name files that there are."""
    if header.startswith("Index: "):
        return old_text(header[7:]) is not None
    names = _names_of_header(header[11:]) if header.startswith("diff --git ") else (None, None)
    return all(name is not None and old_text(name) is not None for name in names)


class _PatchedFile:
    """A file while a patch is laid over it."""

    def __init__(self, old: list[str]) -> None:
        self._old = old
        self._at = 0
        self._new: list[str] = []

    @property
    def text(self) -> str:
        return "".join([*self._new, *self._old[self._at :]])

    def take(self, lines: list[str], place: int, start: int, old_left: int, new_left: int) -> int | None:
        """Take the hunk whose lines begin at `place`; the place of the line after it, or None if it does not fit."""
        start -= 1 if old_left else 0
        if not self._at <= start <= len(self._old):
            return None
        self._new += self._old[self._at : start]
        self._at = start
        while place < len(lines) and (old_left > 0 or new_left > 0 or lines[place] == _NO_NEWLINE):
            sign, text = lines[place][:1], lines[place][1:]
            place += 1
            if sign == "\\":
                continue
            if sign not in (" ", "-", "+"):
                return None
            if lines[place : place + 1] == [_NO_NEWLINE]:
                text = text.removesuffix("\n")
            if sign in (" ", "-"):
                if self._at >= len(self._old) or self._old[self._at] != text:
                    return None
                self._at, old_left = self._at + 1, old_left - 1
            if sign in (" ", "+"):
                self._new.append(text)
                new_left -= 1
        return place if old_left == new_left == 0 else None


class _Section:
    """What is known of one file while its part of a patch is read."""

    def __init__(self, old_path: str | None, path: str | None) -> None:
        self.old_path = old_path
        self.path = path
        self.operation = "modify"
        self.file_type: str | None = None
        self.labelled = False
        self.old: list[str] = []
        self.new: list[str] = []

    def label(self, old_path: str | None, path: str | None) -> None:
        self.labelled = True
        if (old_path is None or old_path.startswith("a/")) and (path is None or path.startswith("b/")):
            old_path, path = old_path and old_path[2:], path and path[2:]
        if old_path is None:
            self.operation = "add"
        elif path is None:
            self.operation = "delete"
        self.old_path, self.path = old_path or path, path or old_path

    def read_header(self, line: str) -> None:
        for start, operation in (("new file mode ", "add"), ("deleted file mode ", "delete")):
            if line.startswith(start):
                self.operation = operation
                self.file_type = "symlink" if line.endswith(" 120000") else None
        for start, operation in (("rename ", "move"), ("copy ", "copy")):
            if line.startswith(f"{start}from "):
                self.operation, self.old_path = operation, _name(line[len(start) + 5 :])
            elif line.startswith(f"{start}to "):
                self.operation, self.path = operation, _name(line[len(start) + 3 :])
        if line.startswith(("Binary files ", "GIT binary patch")):
            self.file_type = "binary"

    def read_hunk(self, lines: list[str], place: int, old_left: int, new_left: int) -> int:
        """Take the lines of one hunk; the place of the line after it is returned."""
        sides: list[list[str]] = []
        while place < len(lines):
            line = lines[place]
            if line.startswith("\\"):
                for side in sides:
                    side[-1] = side[-1].removesuffix("\n")
            elif line.startswith("-") and old_left > 0:
                sides = [self.old]
                old_left -= 1
            elif line.startswith("+") and new_left > 0:
                sides = [self.new]
                new_left -= 1
            elif line.startswith((" ", "\n")) and old_left > 0 and new_left > 0:
                sides = [self.old, self.new]
                old_left, new_left = old_left - 1, new_left - 1
            else:
                break
            if not line.startswith("\\"):
                for side in sides:
                    side.append(line if line == "\n" else line[1:])  # an editor may strip the blank of an empty line
            place += 1
        return place

    def change(self) -> FileChange | None:
        if not self.path:
            return None
        shown = bool(self.old or self.new) or (self.operation in ("add", "delete") and self.file_type != "binary")
        return FileChange(
            operation=self.operation,
            path=self.path,
            old_path=self.old_path if self.operation in ("move", "copy") else None,
            file_type=self.file_type,
            old_text="".join(self.old) if shown and self.operation != "add" else None,
            new_text="".join(self.new) if shown and self.operation != "delete" else None,
        )


def _lines(text: str) -> list[str]:
    """Lines as Git sees them: only a line feed ends one."""
    parts = text.split("\n")
    last = parts.pop()
    lines = [f"{part}\n" for part in parts]
    return [*lines, last] if last else lines


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in LineMatcher(old, new).get_grouped_opcodes(CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n"
        for what, old_from, old_to, new_from, new_to in group:
            if what == "equal":
                yield from _marked(" ", old[old_from:old_to])
            else:
                yield from _marked("-", old[old_from:old_to])
                yield from _marked("+", new[new_from:new_to])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(end)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_NEWLINE}"


def _quoted(path: str) -> str:
    raw = b"".join(
        bytes([ord(letter) - 0xDC00]) if "\udc80" <= letter <= "\udcff" else letter.encode("utf-8", "surrogatepass")
        for letter in path  # a byte of a file name that is no UTF-8 is such a letter
    )
    if all(0x20 <= byte < 0x7F and byte not in _ESCAPES for byte in raw):
        return path
    return f'"{"".join(_escaped(byte) for byte in raw)}"'


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return f"\\{_ESCAPES[byte]}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _unquoted(body: str) -> str:
    raw = bytearray()
    place = 0
    for escape in _ESCAPED.finditer(body):
        raw += body[place : escape.start()].encode("utf-8", "surrogatepass")
        code = escape[1]
        raw.append(_UNESCAPES.get(code, ord(code) & 0xFF) if len(code) == 1 else int(code, 8) & 0xFF)
        place = escape.end()
    raw += body[place:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "surrogateescape")


def _name(label: str) -> str | None:
    """The path that a line names, or None for the file that is not there."""
    if quoted := _QUOTED.match(label):
        return _unquoted(quoted[1])
    path = label.partition("\t")[0]
    return None if path == _NOWHERE else path


def _names_of_header(names: str) -> tuple[str | None, str | None]:
    """The two paths of a `diff --git` line; unquoted ones that differ can't be told apart, other lines will name them."""
    if quoted := _QUOTED.match(names):
        return _unquoted(quoted[1]), _name(names[quoted.end() + 1 :])
    first, second = names[: len(names) // 2], names[len(names) // 2 + 1 :]
    if first == second:
        return first, second
    if first.startswith("a/") and second.startswith("b/") and first[2:] == second[2:]:
        return first[2:], second[2:]
    return None, None


MOST_PAIRS = 40_000
"""The longest stretch, in old lines times new lines, that difflib looks at."""


class LineMatcher(SequenceMatcher[str]):
    """difflib's matcher of two lists of lines, but for how it finds what matches."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, "", "")
        self.a, self.b = old, new

    def get_matching_blocks(self) -> list[Match]:
        """Blocks of common lines, in order, none of them touching; the last one is empty and at the end of both."""
        old, new = self.a, self.b
        head, tail = _ends(old, new)
        middle = _stretches(old[head : len(old) - tail], new[head : len(new) - tail])
        places = [(head + a, head + b, size) for a, b, size in middle]
        blocks: list[Match] = []
        old_start, new_start, length = 0, 0, head
        for old_place, new_place, size in [*places, (len(old) - tail, len(new) - tail, tail)]:
            if (old_start + length, new_start + length) == (old_place, new_place):
                length += size
                continue
            if length:
                blocks.append(Match(old_start, new_start, length))
            old_start, new_start, length = old_place, new_place, size
        if length:
            blocks.append(Match(old_start, new_start, length))
        return [*blocks, Match(len(old), len(new), 0)]


def _stretches(old: Sequence[str], new: Sequence[str]) -> Iterator[Match]:
    old_start = new_start = 0
    for old_end, new_end in _landmarks(old, new):
        if old_start < old_end and new_start < new_end:
            yield from _stretch(old[old_start:old_end], new[new_start:new_end], old_start, new_start)
        yield Match(old_end, new_end, 1)
        old_start, new_start = old_end + 1, new_end + 1
    if old_start < len(old) and new_start < len(new):
        yield from _stretch(old[old_start:], new[new_start:], old_start, new_start)


def _landmarks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of the lines that occur once in both, as many of them as are in the same order."""
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    place_in_new = {line: place for place, line in enumerate(new) if line in once}
    ends: list[int] = []  # the smallest last place in `new` of a chain of each length
    chains: list[tuple[int, int, int]] = []  # place in old, place in new, the link before
    last_link: list[int] = []
    for place, line in enumerate(old):
        if line not in once:
            continue
        other = place_in_new[line]
        length = len(ends) if not ends or other > ends[-1] else bisect_left(ends, other)
        if length == len(ends):
            ends.append(0)
            last_link.append(0)
        ends[length], last_link[length] = other, len(chains)
        chains.append((place, other, last_link[length - 1] if length else -1))
    landmarks: list[tuple[int, int]] = []
    link = last_link[-1] if last_link else -1
    while link >= 0:
        place, other, link = chains[link]
        landmarks.append((place, other))
    return landmarks[::-1]


def _stretch(old: Sequence[str], new: Sequence[str], old_start: int, new_start: int) -> Iterator[Match]:
    head, tail = _ends(old, new)
    if head:
        yield Match(old_start, new_start, head)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if old_middle and new_middle and len(old_middle) * len(new_middle) <= MOST_PAIRS:
        for block in SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_matching_blocks()[:-1]:
            yield Match(old_start + head + block.a, new_start + head + block.b, block.size)
    if tail:
        yield Match(old_start + len(old) - tail, new_start + len(new) - tail, tail)


def _ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines are the same at the beginning, and at the end."""
    shortest = min(len(old), len(new))
    head = next((place for place in range(shortest) if old[place] != new[place]), shortest)
    tail = next((back for back in range(shortest - head) if old[-1 - back] != new[-1 - back]), shortest - head)
    return head, tail
