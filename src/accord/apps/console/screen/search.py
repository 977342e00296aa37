"""Search in the conversation: the matches in all blocks, also in folded ones, and the bar to type in.

Law: a match is something that the screen shows once its block is unfolded, so that each match can be shown. A search runs
in short steps, so that no key waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import ClassVar, TypeAlias

import msgspec
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.palette import Canvas
from accord.apps.console.screen.drawing.parts import Part

MOST_MATCHES = 10_000
_GAP = r"[\s│▌]+"
"""Between two words: blanks, or a line that was wrapped, with its margins."""
_WIDE = 60
"""The width from which on the bar shows its keys."""
_WORD = re.compile(r"\w+")

Span: TypeAlias = tuple[int, int, int]
"""The number of a line, and the first and the last column in it."""


class Match(msgspec.Struct, frozen=True):
    """A place in an unfolded block: the index of the part, the line in it, and the match's position in the part."""

    block: Block
    part: int
    line: int
    start: int
    number: int
    """Of the matches in the block, from 0."""


class _SearchedBlock(msgspec.Struct, frozen=True):
    block: Block
    version: int
    canvas: Canvas
    matches: list[Match]

    def is_current(self, block: Block, canvas: Canvas) -> bool:
        return self.block is block and self.version == block.version and self.canvas.matches(canvas)


class Search:
    """All places where some words occur one after the other. Upper and lower case are equal."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = re.compile(_GAP.join(map(re.escape, text.split())), re.IGNORECASE)
        self._words = [word.casefold() for word in _WORD.findall(text)]
        self._searched: dict[int, _SearchedBlock] = {}
        self._blocks: list[Block] = []
        self._steps: Iterator[None] = iter(())
        self.nearest: Match | None = None
        """The first match that was found: the last one above the end of the window, or else the last of all."""
        self.has_measured = False
        """Whether the height of a part was an estimate, and is known now."""
        self.is_running = False
        self.is_complete = False

    def begin(self, blocks: list[Block], canvas: Canvas, last: int) -> None:
        """Search all blocks that are new or have changed: upwards from the block with the index `last`, then the others."""
        self._blocks = blocks
        order = [*reversed(blocks[: last + 1]), *reversed(blocks[last + 1 :])]
        self._steps, self.is_running, self.is_complete = self._search(order, canvas), True, False

    def run(self, seconds: float) -> None:
        """Continue for so long; then `is_complete` says whether that was all."""
        begin = perf_counter()
        self.has_measured = False
        for _ in self._steps:
            if perf_counter() - begin > seconds:
                return
        self.is_running, self.is_complete = False, True

    def is_current(self, blocks: Sequence[Block], canvas: Canvas) -> bool:
        """Whether nothing has changed since it was completed."""
        searched = self._searched
        return all((each := searched.get(id(block))) is not None and each.is_current(block, canvas) for block in blocks)

    @property
    def matches(self) -> list[Match]:
        """The matches so far, from top to bottom."""
        found = (self._searched.get(id(block)) for block in self._blocks)
        return [match for each in found if each is not None for match in each.matches]

    def found_again(self, match: Match) -> Match:
        """The same match after its block was drawn with other lines: the one with the same number in the block."""
        searched = self._searched.get(id(match.block))
        return match if searched is None or not searched.matches else searched.matches[: match.number + 1][-1]

    def _search(self, blocks: Sequence[Block], canvas: Canvas) -> Iterator[None]:
        count = len(self.matches)
        for block in blocks:
            known = self._searched.get(id(block))
            if known is not None and known.is_current(block, canvas):
                continue
            matches: list[Match] = []
            version = block.version
            if count < MOST_MATCHES and self._may_be_in(block):
                for index, part in enumerate(block.unfolded_parts(canvas)):
                    matches += self._matches(block, index, part, canvas, len(matches))
                    yield
            count += len(matches) - (0 if known is None else len(known.matches))
            self._searched[id(block)] = _SearchedBlock(block, version, canvas, matches)
            if self.nearest is None and matches:
                self.nearest = matches[-1]
            yield

    def _may_be_in(self, block: Block) -> bool:
        """Whether the text of a block has all words; cheaper than drawing it."""
        source = block.source()
        if source is None:
            return True
        text = source.casefold()
        return all(word in text for word in self._words)

    def _matches(self, block: Block, index: int, part: Part, canvas: Canvas, count: int) -> Iterator[Match]:
        """`count`: those in the parts above."""
        was_drawn, height = part.is_drawn, part.height
        lines = part.lines(canvas)
        self.has_measured = self.has_measured or part.height != height
        if not was_drawn:
            part.drop_lines()
        text = _text_of(lines)
        for number, found in enumerate(self._pattern.finditer(text), count):
            yield Match(block, index, text.count("\n", 0, found.start()), found.start(), number)

    def spans(self, lines: Sequence[Strip]) -> Iterator[tuple[int, list[Span]]]:
        """Each match in the lines of a part: its position, and where to highlight it, line by line."""
        text = _text_of(lines)
        starts = list(accumulate((len(line.text) + 1 for line in lines), initial=0))
        for found in self._pattern.finditer(text):
            first, last = text.count("\n", 0, found.start()), text.count("\n", 0, found.end())
            spans = [
                (
                    line,
                    max(found.start(), starts[line]) - starts[line],
                    min(found.end(), starts[line + 1] - 1) - starts[line],
                )
                for line in range(first, last + 1)
            ]
            yield found.start(), spans


def _text_of(lines: Sequence[Strip]) -> str:
    return "\n".join(line.text for line in lines)


def highlight(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Draw the characters from `start` to `end` in a style."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    middle = [Segment(each.text, (each.style or Style()) + style) for each in strip.crop(first, last)]
    return Strip([*strip.crop(0, first), *middle, *strip.crop(last)])


class SearchField(Input):
    """The text to search for. `close` and `move` are called directly, so that they have finished before the next key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,enter", "move(-1)", "Previous match"),
        ("down,shift+enter", "move(1)", "Next match"),
        ("escape", "close", "Close"),
    ]

    def __init__(self, close: Callable[[], None], move: Callable[[int], None]) -> None:
        super().__init__(placeholder="search in the conversation", compact=True)
        self._close = close
        self._move = move

    def action_move(self, step: int) -> None:
        self._move(step)

    def action_close(self) -> None:
        self._close()


class SearchBar(Horizontal):
    """One line below the conversation, hidden while there is no search. Empty until the first one: the start is faster.

    `close` ends the search; `move` goes to the match above (-1) or below (1).
    """

    class Changed(Message):
        """The text has changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, close: Callable[[], None], move: Callable[[int], None], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._close = close
        self._move = move
        self.display = False

    @cached_property
    def field(self) -> SearchField:
        return SearchField(self._close, self._move)

    @cached_property
    def _count(self) -> Static:
        return Static("", markup=False, classes="count")

    @cached_property
    def _hint(self) -> Static:
        return Static(Text("↑↓ move · Esc close "), markup=False, classes="hint")

    def on_resize(self) -> None:
        self._hint.display = self.size.width >= _WIDE

    @property
    def has_the_focus(self) -> bool:
        return bool(self.display) and self.field.has_focus

    def open(self, text: str) -> None:
        """Show it, with a text to search for, or else the last one, and take the focus."""
        self.display = True
        if not self.field.is_attached:
            self.mount(Static(Text(" Find ", "bold"), markup=False), self.field, self._count, self._hint)
        if text:
            self.field.value = text
        self.screen.set_focus(self.field)
        self.field.action_select_all()
        self.post_message(self.Changed(self.field.value))

    def close(self) -> None:
        self.display = False

    def show_count(self, position: int, count: int, *, is_complete: bool) -> None:
        """Tell which match is selected, or that there is none."""
        more = "+" if count >= MOST_MATCHES else "" if is_complete else "…"
        of = f"{position:,} of " if position else ""
        found = f"{of}{count:,}{more}" if count else "no match" if is_complete else "searching…"
        self._count.update(f" {found}  " if self.field.value.strip() else "")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(event.value))
