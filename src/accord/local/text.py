"""Lines of long texts, and which characters of foreign text are visible and how wide.

Foreign text is judged by these rules, not by Python's idea of white space or a terminal's idea of width.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

from accord.local.file_errors import unusable

__all__ = ["count", "most_cells", "part", "part_of", "told_apart"]

_CHUNK = 1024 * 1024


def part(read: Callable[[int], bytes], path: str, line: int | None, limit: int | None, most: int) -> str:
    """The text from `line` on, `limit` lines of it, but no more than `most` bytes.

    A line ends with a newline, which belongs to it, so parts that follow each other join to the whole.
    """
    start = (line or 1) - 1
    stop = None if limit is None else start + limit
    found = 0  # newlines before the chunk
    taken = bytearray()
    while (stop is None or found < stop) and (chunk := read(_CHUNK)):
        newlines = chunk.count(b"\n")
        if found + newlines >= start:
            begin = _after(chunk, start - found)
            end = len(chunk) if stop is None or found + newlines < stop else _after(chunk, stop - found)
            taken += chunk[begin:end]
            if len(taken) > most:
                raise unusable("read", path, f"that is more than {most} bytes; ask for fewer lines with line and limit")
        found += newlines
    try:
        return taken.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unusable("read", path, "it is not text in UTF-8") from error


def part_of(text: str, line: int | None, limit: int | None, path: str = "", most: int | None = None) -> str:
    """The same of a text that we have."""
    content = text.encode()
    return part(io.BytesIO(content).read, path, line, limit, len(content) if most is None else most)


def count(text: str) -> int:
    """How many lines there are; one that is not ended is one, too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _after(chunk: bytes, newlines: int) -> int:
    """Where the chunk goes on after so many newlines."""
    position = 0
    for _ in range(newlines):
        position = chunk.index(b"\n", position) + 1
    return position


_Part: TypeAlias = Literal["letter", "sign", "mark", "hidden"]

_UNSEEN = re.compile(
    "[\u034f\u115f-\u11ff\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\ufdfd\ud7b0-\ud7ff"
    "\U00013441\U00013442\U00016fe4\U0001d159\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that are blank, or change others, or are drawn over what follows. Halves of Hangul
syllables are among them: where they stand alone, terminals disagree about their width."""
_MOST_MARKS = 2
"""So many accents may stand on one letter; what is above that could cover other lines."""
_OVERLAY = 1


def told_apart(text: Iterable[str], before: str = "") -> Iterator[tuple[str, bool]]:
    """Each character, and whether it can be seen; of blanks only the space. `before` is what stands before the text."""
    bearer, marks = before[-1:] if before[-1:].isalpha() else "", 0
    for letter in text:
        part = _part(letter)
        if part == "mark" and bearer and marks < _MOST_MARKS and _can_bear(bearer, letter):
            marks += 1
            yield letter, True
            continue
        bearer, marks = letter if part == "letter" else "", 0
        yield letter, part in ("letter", "sign")


def most_cells(text: str) -> int:
    """In how many cells of a terminal a text fits that can be seen, whatever that terminal takes for wide."""
    return len(text) if text.isascii() else sum(map(_most_cells, text))


@lru_cache(4096)
def _part(letter: str) -> _Part:
    category = unicodedata.category(letter)
    if _UNSEEN.match(letter):
        return "hidden"
    if category[0] in "LNPS" or letter == " ":
        return "letter" if category[0] == "L" else "sign"
    return "mark" if category in ("Mn", "Mc") and unicodedata.combining(letter) != _OVERLAY else "hidden"


@lru_cache(4096)
def _can_bear(letter: str, mark: str) -> bool:
    """Whether the mark is seen on that letter: one of another script may show nothing there, such as U+1039."""
    name = unicodedata.name(mark, "")
    return "COMBINING" in name or name.split(" ")[0] == unicodedata.name(letter, "").split(" ")[0]


@lru_cache(4096)
def _most_cells(letter: str) -> int:
    """Ambiguous ones count as wide, and so do symbols, of which some terminals make pictures; not signs for controls."""
    if letter.isascii() or "\u2400" <= letter <= "\u2426":
        return 1
    category = unicodedata.category(letter)
    return 2 if category[0] == "S" or category == "No" or unicodedata.east_asian_width(letter) in "WFA" else 1
