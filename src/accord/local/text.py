"""Characters of foreign text: which are visible, and how wide they are.

Law: foreign text is judged by these rules, not by Python's idea of white space or a terminal's idea of width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

_Class: TypeAlias = Literal["letter", "sign", "mark", "hidden"]

_INVISIBLE = re.compile(
    "[\u034f\u115f-\u11ff\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\ufdfd\ud7b0-\ud7ff"
    "\U00013441\U00013442\U00016fe4\U0001d159\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that are blank, change others, or are drawn over what follows. Halves of Hangul syllables are
among them: terminals disagree about their width where they stand alone."""
_MAX_MARKS = 2
"""Accents that one letter may have; more could cover other lines."""
_OVERLAY = 1


def character_visibility(text: Iterable[str], before: str = "") -> Iterator[tuple[str, bool]]:
    """Each character, and whether it is visible; of blanks only the space is. `before` is the text in front of it."""
    base, marks = before[-1:] if before[-1:].isalpha() else "", 0
    for letter in text:
        kind = _class(letter)
        if kind == "mark" and base and marks < _MAX_MARKS and _can_combine(base, letter):
            marks += 1
            yield letter, True
            continue
        base, marks = letter if kind == "letter" else "", 0
        yield letter, kind in ("letter", "sign")


def printable(text: str) -> str:
    """The text on one line, with every character escaped that is invisible or that a terminal would obey."""
    return "".join(
        letter if is_visible else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter, is_visible in character_visibility(text)
    )


def max_cells(text: str) -> int:
    """The most cells that a visible text takes in any terminal, whatever that takes for wide."""
    return len(text) if text.isascii() else sum(map(_max_cells_of, text))


@lru_cache(4096)
def _class(letter: str) -> _Class:
    category = unicodedata.category(letter)
    if _INVISIBLE.match(letter):
        return "hidden"
    if category[0] in "LNPS" or letter == " ":
        return "letter" if category[0] == "L" else "sign"
    return "mark" if category in ("Mn", "Mc") and unicodedata.combining(letter) != _OVERLAY else "hidden"


@lru_cache(4096)
def _can_combine(letter: str, mark: str) -> bool:
    """Whether the mark is visible on that letter: one of another script may show nothing, such as U+1039."""
    name = unicodedata.name(mark, "")
    return "COMBINING" in name or name.split(" ")[0] == unicodedata.name(letter, "").split(" ")[0]


@lru_cache(4096)
def _max_cells_of(letter: str) -> int:
    """Ambiguous characters and symbols count as wide: some terminals draw pictures. Control pictures do not."""
    if letter.isascii() or "\u2400" <= letter <= "\u2426":
        return 1
    category = unicodedata.category(letter)
    return 2 if category[0] == "S" or category == "No" or unicodedata.east_asian_width(letter) in "WFA" else 1
