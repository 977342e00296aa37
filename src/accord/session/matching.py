"""Which lines two texts have in common, in order.

difflib alone can take time that grows with the square of the lines, and a peer chooses the lines. So the lines that
occur once in both texts are matched first, and difflib only gets the short stretches between them; a long stretch
that has no such line counts as rewritten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

__all__ = ["LineMatcher"]

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
