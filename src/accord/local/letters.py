"""Characters of foreign text: which of them can be seen, and how many cells each takes at most.

Foreign text is judged by these rules, not by Python's idea of white space or a terminal's idea of width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = ["most_cells", "told_apart"]

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
