"""Tables that are too long to be looked at as a whole: how wide their columns are, told from what is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

__all__ = ["cells_of", "fitted", "is_delimiter"]

_DELIMITER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_UNSEEN = re.compile(r"[*`\\]|~~")


def is_delimiter(line: str) -> bool:
    """Whether this is the line below the head of a table."""
    return "|" in line and _DELIMITER.match(line) is not None


def cells_of(line: str) -> list[int]:
    """The widths of the cells in a row, about: markup that is not shown is not counted."""
    inside = _UNSEEN.sub("", line.replace("\\|", "/")).strip().removeprefix("|").removesuffix("|")
    return [cell_len(cell.strip()) for cell in inside.split("|")]


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """So that all of them have room with their borders; the widest give way."""
    room -= 3 * len(widths) + 1
    most = max(widths, default=1)
    while most > 1 and sum(min(width, most) for width in widths) > room:
        most -= 1
    return [max(1, min(width, most)) for width in widths]
