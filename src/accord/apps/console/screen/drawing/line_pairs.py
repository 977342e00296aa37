"""Which of the lines that went is which of those that came: pairs in their order, of lines that have much in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["partners"]

LIKE = 0.5
_MOST = 400
"""So many comparisons at most; a change that needs more of them is another text."""
_WORD = re.compile(r"\w+|[^\w\s]")


def partners(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of those that belong together; as many lines as went are taken to be those that came."""
    if len(old) == len(new):
        return [(place, place) for place in range(len(old))]
    if not old or not new or len(old) * len(new) > _MOST:
        return []
    likeness = _likeness(old, new)
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for one in reversed(range(len(old))):
        for other in reversed(range(len(new))):
            together = likeness[one][other] + best[one + 1][other + 1] if likeness[one][other] >= LIKE else 0.0
            best[one][other] = max(together, best[one + 1][other], best[one][other + 1])
    return _walked(best)


def _walked(best: list[list[float]]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    one = other = 0
    while one < len(best) - 1 and other < len(best[0]) - 1:
        if best[one][other] == best[one + 1][other]:
            one += 1
        elif best[one][other] == best[one][other + 1]:
            other += 1
        else:
            pairs.append((one, other))
            one, other = one + 1, other + 1
    return pairs


def _likeness(old: Sequence[str], new: Sequence[str]) -> list[list[float]]:
    """From 0 to 1: the share of words that two lines have in common."""
    ours, theirs = ([Counter(_WORD.findall(line)) for line in lines] for lines in (old, new))
    return [[2 * (a & b).total() / max(1, a.total() + b.total()) for b in theirs] for a in ours]
