"""The conversation on the screen. Law: what is drawn is what is seen; a block outside the window costs a number.

Blocks have heights, and heights have sums; to paint a line is to find its block. A block that was never drawn at this
width has a guessed height. Those in the window are always drawn; the others are drawn bit by bit while nothing else
happens, and what that corrects above the window moves the window along, so that nothing is seen to jump.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from time import perf_counter
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.ink import Ink, Palette

__all__ = ["ConversationView"]

FRAME = 1 / 30
SLICE = 0.008
PAUSE, QUIET = 0.03, 0.25
"""Guessed blocks are measured in slices with pauses, when nothing was painted for a while."""
KEPT_LINES = 4000
_NOTHING = Strip([])


class ConversationView(ScrollView, can_focus=True):
    """Shows a list of blocks that grows; follows its end as long as the end is in view."""

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move_cursor(1)", "The next thing that folds"),
        ("k", "move_cursor(-1)", "The one before"),
        ("enter,space", "act('fold')", "Fold or unfold"),
        ("c", "act('copy')", "Copy"),
        ("e", "act('edit')", "Open in $EDITOR"),
        ("x", "act('stop')", "Stop it"),
    ]

    class Acted(Message):
        """The user wants something done with a block."""

        def __init__(self, block: Block, what: str) -> None:
            super().__init__()
            self.block = block
            self.what = what

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._blocks: list[Block] = []
        self._tops: list[int] = [0]
        self._palette: Palette | None = None
        self._ink: Ink | None = None
        self._timer: Timer | None = None
        self._idle: Timer | None = None
        self._next_guess = 0
        self._cost = 0.0
        self._painted_at = 0.0
        self._kept: dict[int, Block] = {}
        self.cursor: Block | None = None
        self.is_following = True
        """Whether the end stays in view when something is added to it."""

    @property
    def palette(self) -> Palette | None:
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        self._palette = palette
        self._restart()

    def show(self, blocks: list[Block], *, follow: bool = True) -> None:
        """Another list of blocks; the list itself may go on growing."""
        for block in self._kept.values():
            block.forget()
        self._kept.clear()
        self._blocks, self.cursor, self.is_following = blocks, None, follow
        self._restart()

    def changed(self) -> None:
        """Some block has changed or was added; it is painted with the next frame."""
        if self._timer is None and self.is_attached:
            self._timer = self.set_timer(max(FRAME, 4 * self._cost), self._frame)

    def paint(self) -> None:
        """Now, without waiting for the next frame."""
        self._frame()

    def follow(self) -> None:
        """To the end, and stay there."""
        self.is_following = True
        self.changed()

    def block_at(self, line: int) -> Block | None:
        place = bisect_right(self._tops, line) - 1
        return self._blocks[place] if 0 <= place < min(len(self._blocks), len(self._tops) - 1) else None

    def action_move_cursor(self, step: int) -> None:
        """To the next block that can be folded, up or down."""
        foldable = [block for block in self._blocks if block.can_fold]
        if not foldable:
            return
        beyond = len(foldable) if step < 0 else -1
        place = (foldable.index(self.cursor) if self.cursor in foldable else beyond) + step
        self.cursor = foldable[max(0, min(place, len(foldable) - 1))]
        self._reveal(self.cursor)
        self.refresh()

    def action_act(self, what: str) -> None:
        block = self.cursor or (self._blocks[-1] if self._blocks else None)
        if block is None:
            return
        if what == "fold":
            self.toggle(block)
        else:
            self.post_message(self.Acted(block, what))

    def on_click(self, event: events.Click) -> None:
        block = self.block_at(self.scroll_offset.y + event.y)
        if block is not None and block.can_fold and self.text_selection is None:
            self.cursor = block
            self.toggle(block)

    def toggle(self, block: Block) -> None:
        if block.fold(not block.is_folded):
            self.is_following = False
            self._frame()

    def _reveal(self, block: Block) -> None:
        place = self._blocks.index(block)
        self._settle()
        top, bottom = self._tops[place], self._tops[place + 1]
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, min(top, bottom - self.size.height)), animate=False)

    def _restart(self) -> None:
        width = self.scrollable_content_region.width
        if self._palette is None or width <= 0:
            return
        self._ink = Ink(self._palette, width)
        self._next_guess = 0
        self._frame()

    def on_resize(self, event: events.Resize) -> None:
        if self._ink is None or self._ink.width != self.scrollable_content_region.width:
            self._restart()
        else:
            self._frame()

    def on_unmount(self) -> None:
        self._timer = self._idle = None

    def _frame(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._ink is None:
            return
        begin = perf_counter()
        self._settle()
        self.refresh()
        self._cost = min(0.1, perf_counter() - begin)
        self._painted_at = begin
        self._measure_soon()

    def _settle(self) -> None:
        """Draw what is in the window, and put the window where it belongs."""
        anchor, inside = self._anchor()
        self._draw_ahead(anchor)
        for _ in range(3):  # what is drawn may have another height than was guessed, which brings in others
            self._sum()
            self._place(anchor, inside)
            if not self._draw_window():
                break

    def _draw_ahead(self, anchor: Block | None) -> None:
        """The blocks that will be in the window: up from the end, or down from the one at its top."""
        ink, room = self._ink, self.size.height
        assert ink is not None
        place = len(self._blocks) - 1 if anchor is None else self._blocks.index(anchor)
        step = -1 if anchor is None else 1
        if anchor is not None:
            room += anchor.height
        while 0 <= place < len(self._blocks) and room > 0:
            block = self._blocks[place]
            room -= len(block.lines(ink))
            self._keep(block)
            place += step

    def _anchor(self) -> tuple[Block | None, int]:
        if self.is_following:
            return None, 0
        line = self.scroll_offset.y
        block = self.block_at(line)
        return block, 0 if block is None else line - self._tops[bisect_right(self._tops, line) - 1]

    def _place(self, anchor: Block | None, inside: int) -> None:
        total = self._tops[-1]
        size = Size(self.scrollable_content_region.width, total)
        if self.virtual_size != size:
            self.virtual_size = size
        last = max(0, total - self.size.height)
        if self.is_following:
            target = last
        elif anchor is not None and anchor in self._blocks:
            target = min(last, self._tops[self._blocks.index(anchor)] + inside)
        else:
            target = min(last, self.scroll_offset.y)
        if target != self.scroll_offset.y:
            self.set_scroll(None, target)  # not through the watcher: it is not the user who scrolls
            self.vertical_scrollbar.position = target

    def _sum(self) -> None:
        gaps = _gaps(self._blocks)
        self._tops = list(
            accumulate((block.height + gap for block, gap in zip(self._blocks, gaps, strict=True)), initial=0)
        )

    def _draw_window(self) -> bool:
        """Whether a height was not as guessed."""
        ink, wrong = self._ink, False
        assert ink is not None
        first = max(0, bisect_right(self._tops, self.scroll_offset.y) - 1)
        end = self.scroll_offset.y + max(1, self.size.height)
        for place in range(first, min(len(self._blocks), len(self._tops) - 1)):
            if self._tops[place] > end:
                break
            block = self._blocks[place]
            if not block.is_drawn(ink):
                before = block.height
                block.lines(ink)
                wrong = wrong or block.height != before
            self._keep(block)
        return wrong

    def _keep(self, block: Block) -> None:
        """Of blocks that are out of the window, only the last ones keep their lines."""
        self._kept.pop(id(block), None)
        self._kept[id(block)] = block
        lines = 0 if len(self._kept) < 64 else sum(kept.height for kept in self._kept.values())
        while lines > KEPT_LINES and len(self._kept) > 32:
            oldest = self._kept.pop(next(iter(self._kept)))
            lines -= oldest.height
            oldest.forget()

    def _measure_soon(self) -> None:
        if self._idle is None and self._next_guess < len(self._blocks):
            self._idle = self.set_timer(PAUSE, self._measure)

    def _measure(self) -> None:
        """While nothing else happens: draw blocks that were only guessed, a few at a time."""
        self._idle = None
        ink, begin = self._ink, perf_counter()
        if ink is None or begin - self._painted_at < QUIET:
            self._measure_soon()
            return
        wrong = False
        while self._next_guess < len(self._blocks) and perf_counter() - begin < SLICE:
            block = self._blocks[self._next_guess]
            self._next_guess += 1
            if not block.is_drawn(ink) and id(block) not in self._kept:
                before = block.height
                block.lines(ink)
                block.forget()
                wrong = wrong or block.height != before
        if wrong:
            self._settle()
            self.refresh()
        self._measure_soon()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self._ink is not None and round(old_value) != round(new_value):
            self.is_following = new_value >= self.max_scroll_y
            if self._draw_window():
                self.call_later(self._frame)
        super().watch_scroll_y(old_value, new_value)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self.scroll_offset.y + y
        style = self.rich_style
        strip = self._line(line)
        strip = strip.crop_extend(0, width, style).apply_style(style)
        if self.text_selection is not None:
            strip = self._selected(strip, line)
        return strip.apply_offsets(0, line)

    def _line(self, line: int) -> Strip:
        place = bisect_right(self._tops, line) - 1
        if self._ink is None or not 0 <= place < min(len(self._blocks), len(self._tops) - 1):
            return _NOTHING
        block = self._blocks[place]
        lines = block.lines(self._ink)
        inside = line - self._tops[place] - (self._tops[place + 1] - self._tops[place] - len(lines))
        if not 0 <= inside < len(lines):
            return _NOTHING
        strip = lines[inside]
        if block is self.cursor and self.has_focus and inside == 0:
            return Strip([Segment("▶ ", self._ink.palette.cursor), *strip.crop(2)])
        return strip

    def _selected(self, strip: Strip, line: int) -> Strip:
        selection = self.text_selection
        span = None if selection is None else selection.get_span(line)
        if span is None:
            return strip
        start, end = span
        if end == -1:
            end = strip.cell_length
        chosen = self.screen.get_component_rich_style("screen--selection")
        return Strip.join(
            [strip.crop(0, start), strip.crop(start, end).apply_style(chosen), strip.crop(end, strip.cell_length)]
        )

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that was selected, without the blanks at the ends of lines."""
        first = 0 if selection.start is None else selection.start.y
        last = self._tops[-1] - 1 if selection.end is None else selection.end.y
        lines: list[str] = []
        for line in range(first, last + 1):
            text = self._line(line).text
            span = selection.get_span(line)
            start, end = (0, -1) if span is None else span
            lines.append(text[start : None if end == -1 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _gaps(blocks: list[Block]) -> list[int]:
    """A blank line above each block, but for the first and between two that are a line each."""
    gaps = [1] * len(blocks)
    for place, block in enumerate(blocks):
        if place == 0 or (_is_line(blocks[place - 1]) and _is_line(block)):
            gaps[place] = 0
    return gaps


def _is_line(block: Block) -> bool:
    return block.can_fold and block.height == 1
