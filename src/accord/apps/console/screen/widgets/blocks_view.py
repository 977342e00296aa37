"""A list of blocks to scroll through. Law: what is drawn is what is seen; a part outside the window costs a number.

Blocks have parts, parts have heights, and heights have sums; to paint a line is to find its part. A part that was never
drawn at this width has a guessed height. Those in the window are always drawn; the others are drawn bit by bit while
nothing else happens, and what that corrects above the window moves the window along, so that nothing is seen to jump.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from time import perf_counter
from typing import TypeAlias

from rich.cells import cell_len
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part

__all__ = ["BlocksView"]

FRAME = 1 / 30
SLICE = 0.008
PAUSE, QUIET = 0.03, 0.25
"""Guessed parts are measured in slices with pauses, when nothing was painted for a while."""
KEPT_LINES, _KEPT_PARTS = 4000, 64
"""Of what is out of sight, the last so many lines are kept; a few parts always."""
_NOTHING = Strip([])
Anchor: TypeAlias = tuple[Block, int, int]


class BlocksView(ScrollView):
    """Shows a list of blocks that grows; follows its end as long as the end is in view."""

    ALLOW_SELECT = True
    # The scroll bar's column is kept free: nothing tells a view that one has come, and it would cover what was drawn.
    DEFAULT_CSS = "BlocksView { scrollbar-gutter: stable; scrollbar-size-horizontal: 0; }"

    def __init__(self, *, id: str | None = None, can_focus: bool | None = None) -> None:
        super().__init__(id=id, can_focus=can_focus)
        self._blocks: list[Block] = []
        self._parts: list[Part] = []
        self._tops: list[int] = [0]
        self._shown: list[Block] = []
        """The blocks that have parts, and at which place in `_parts` each begins."""
        self._begins: list[int] = []
        self._palette: Palette | None = None
        self._ink: Ink | None = None
        self._timer: Timer | None = None
        self._idle: Timer | None = None
        self._next_guess = 0
        self._cost = 0.0
        self._painted_at = 0.0
        self._kept: dict[int, Part] = {}
        self._held: Anchor | None = None
        """What stays in its place with the next frame, though the window has been scrolled."""
        self.is_following = True
        """Whether the end stays in view when something is added to it."""

    @property
    def palette(self) -> Palette | None:
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        self._palette = palette
        self._restart()

    def show_blocks(self, blocks: list[Block], *, follow: bool) -> None:
        """Another list of blocks; the list itself may go on growing."""
        for part in self._kept.values():
            part.forget()
        self._kept.clear()
        self._blocks, self.is_following, self._held = blocks, follow, None
        self._restart()

    def changed(self) -> None:
        """Some block has changed or was added; it is painted with the next frame."""
        if self._timer is None and self.is_attached:
            self._timer = self.set_timer(max(FRAME, 4 * self._cost), self.paint)

    def follow(self) -> None:
        """To the end, and stay there."""
        self.is_following = True
        self.changed()

    def place_at(self, line: int) -> int | None:
        """Of the part that this line is in, or above."""
        place = bisect_right(self._tops, line) - 1
        return place if 0 <= place < len(self._parts) else None

    def block_of(self, place: int) -> tuple[Block, int]:
        """The block that a part is of, and where in it."""
        found = bisect_right(self._begins, place) - 1
        return self._shown[found], place - self._begins[found]

    def top_of(self, place: int) -> int:
        """The first line of a part."""
        return self._tops[place + 1] - self._parts[place].height

    def _restart(self) -> None:
        width = self.scrollable_content_region.width
        if self._palette is None or width <= 0:
            return
        self._ink = Ink(self._palette, width)
        self._next_guess = 0
        self.paint()

    def on_resize(self, event: events.Resize) -> None:
        if self._fits():
            self.paint()
        else:
            self._restart()

    def _fits(self) -> bool:
        """Whether it is drawn for the width that it has."""
        return self._ink is not None and self._ink.width == self.scrollable_content_region.width

    def _fit(self) -> None:
        if not self._fits():
            self._restart()

    def on_unmount(self) -> None:
        self._timer = self._idle = None

    def paint(self) -> None:
        """Now, without waiting for the next frame."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._ink is None:
            return
        begin = perf_counter()
        self.settle()
        self.refresh()
        self._cost = min(0.1, perf_counter() - begin)
        self._painted_at = begin
        self._measure_soon()

    def settle(self) -> None:
        """Draw what is in the window, and put the window where it belongs."""
        anchor = self._anchor()
        self._draw_ahead(anchor)
        for _ in range(3):  # what is drawn may have another height than was guessed, which brings in others
            self._sum()
            self._place(anchor)
            if not self._draw_window():
                break
        self._let_go()

    def _anchor(self) -> Anchor | None:
        """What stays in its place: a block, which part of it, and how far the window begins below the top of that."""
        held, self._held = self._held, None
        if self.is_following:
            return None
        return held or self._anchor_at(self.scroll_offset.y)

    def _anchor_at(self, line: int) -> Anchor | None:
        place = self.place_at(line)
        return None if place is None else (*self.block_of(place), line - self._tops[place])

    def _draw_ahead(self, anchor: Anchor | None) -> None:
        """The parts that will be in the window: up from the end, or down from the one at its top."""
        ink, room = self._ink, self.size.height
        assert ink is not None
        if anchor is None or anchor[0] not in self._blocks:
            self._draw_some(_upwards(self._blocks, ink), room)
            return
        block, inside, line = anchor
        place = self._blocks.index(block)
        parts = block.parts(ink)
        self._draw_some(chain(parts[inside:], _downwards(self._blocks[place + 1 :], ink)), room + line)
        if line < 0:
            self._draw_some(chain(reversed(parts[:inside]), _upwards(self._blocks[:place], ink)), -line)

    def _draw_some(self, parts: Iterable[Part], room: int) -> None:
        """Until so many lines are there."""
        assert self._ink is not None
        for part in parts:
            if room <= 0:
                break
            room -= len(part.lines(self._ink))
            self._keep(part)

    def _place(self, anchor: Anchor | None) -> None:
        total = self._tops[-1]
        size = Size(self.scrollable_content_region.width, total)
        if self.virtual_size != size:
            self.virtual_size = size
        target = last = max(0, total - self.size.height)
        if not self.is_following:
            target = min(last, self.scroll_offset.y if anchor is None else self._line_of(*anchor))
        if target != self.scroll_offset.y:
            self.set_scroll(None, target)  # not through the watcher: it is not the user who scrolls
            self.scroll_target_y = target  # from where the wheel goes on
            self.vertical_scrollbar.position = target

    def _line_of(self, block: Block, inside: int, line: int) -> int:
        """Where that is now; the last line of the block when it has become shorter."""
        if block not in self._shown:
            return self.scroll_offset.y
        begin = self._begins[self._shown.index(block)]
        if inside >= len(block.known_parts):
            return max(self._tops[begin], self._tops[begin + len(block.known_parts)] - 1)
        return self._tops[begin + inside] + line

    def _sum(self) -> None:
        self._shown = [block for block in self._blocks if block.known_parts]
        self._begins, self._parts = [], []
        heights: list[int] = []
        was_line = True
        for block in self._shown:
            parts = block.known_parts
            is_line = block.can_fold and len(parts) == 1 and parts[0].height == 1
            place = len(heights)
            self._begins.append(place)
            self._parts += parts
            heights += [part.height for part in parts]
            if place and not (is_line and was_line):
                heights[place] += 1  # a blank line above it
            was_line = is_line
        self._tops = list(accumulate(heights, initial=0))

    def _draw_window(self) -> bool:
        """Whether a height was not as guessed, or a block has other parts."""
        ink, wrong, moved = self._ink, False, 0
        assert ink is not None
        end = self.scroll_offset.y + max(1, self.size.height)
        for place in range(self.place_at(self.scroll_offset.y) or 0, len(self._parts)):
            if self._tops[place] + moved > end:
                break
            block, _ = self.block_of(place)
            if not block.is_composed(ink):
                block.parts(ink)
                return True
            part = self._parts[place]
            before = part.height
            part.lines(ink)
            self._keep(part)
            moved += part.height - before
            wrong = wrong or part.height != before
        return wrong

    def _keep(self, part: Part) -> None:
        """Of parts that are out of the window, only the last ones keep their lines."""
        self._kept.pop(id(part), None)
        self._kept[id(part)] = part

    def _let_go(self) -> None:
        lines = sum(part.height for part in self._kept.values())
        while lines > KEPT_LINES and len(self._kept) > _KEPT_PARTS:
            oldest = self._kept.pop(next(iter(self._kept)))
            lines -= oldest.height
            oldest.forget()

    def _measure_soon(self) -> None:
        if self._idle is None and self._next_guess < len(self._blocks):
            self._idle = self.set_timer(PAUSE, self._measure)

    def _measure(self) -> None:
        """While nothing else happens: draw parts that were only guessed, a few at a time."""
        self._idle = None
        ink, begin = self._ink, perf_counter()
        if ink is None or begin - self._painted_at < QUIET:
            self._measure_soon()
            return
        wrong = False
        for part in self._guessed(ink):
            before = part.height
            part.lines(ink)
            if id(part) not in self._kept:
                part.forget()
            wrong = wrong or part.height != before
            if perf_counter() - begin > SLICE:
                break
        if wrong:
            self.settle()
            self.refresh()
        self._measure_soon()

    def _guessed(self, ink: Ink) -> Iterator[Part]:
        while self._next_guess < len(self._blocks):
            for part in self._blocks[self._next_guess].parts(ink):
                if not part.is_measured(ink):
                    yield part
            self._next_guess += 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        old, new = round(old_value), round(new_value)
        if self._ink is not None and old != new:
            self.is_following = new_value >= self.max_scroll_y
            anchor = self._held or self._anchor_at(old)
            self._held = None
            if self._draw_window():
                if anchor is not None and abs(new - old) <= self.size.height:  # so that one goes on reading
                    self._held = (anchor[0], anchor[1], anchor[2] + new - old)
                self.call_later(self.paint)
            self._let_go()
        super().watch_scroll_y(old_value, new_value)

    def render_lines(self, crop: Region) -> list[Strip]:
        if not self._fits():  # no Resize comes if somebody wanted to know a region before the first layout
            self.call_later(self._fit)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self.scroll_offset.y + y
        style = self.rich_style
        strip = self._line(line)
        strip = strip.crop_extend(0, width, style).apply_style(style)
        return marked(self, strip, line).apply_offsets(0, line)

    def _line(self, line: int) -> Strip:
        place = self.place_at(line)
        if self._ink is None or place is None:
            return _NOTHING
        lines = self._parts[place].lines(self._ink)
        inside = line - (self._tops[place + 1] - len(lines))
        return self.decorated(lines[inside], place, inside) if 0 <= inside < len(lines) else _NOTHING

    def decorated(self, strip: Strip, place: int, inside: int) -> Strip:
        """A line of a part as it is painted."""
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return text_of(selection, self._tops[-1], lambda line: self._line(line).text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _downwards(blocks: list[Block], ink: Ink) -> Iterator[Part]:
    return (part for block in blocks for part in block.parts(ink))


def _upwards(blocks: list[Block], ink: Ink) -> Iterator[Part]:
    return (part for block in reversed(blocks) for part in reversed(block.parts(ink)))


def marked(view: Widget, strip: Strip, line: int) -> Strip:
    """A line with what is selected of it."""
    selection = view.text_selection
    span = None if selection is None else selection.get_span(line)
    if span is None:
        return strip
    text = strip.text
    start, end = (cell_len(text[:place]) if place != -1 else strip.cell_length for place in span)
    chosen = view.screen.get_component_rich_style("screen--selection")
    return Strip.join(
        [strip.crop(0, start), strip.crop(start, end).apply_style(chosen), strip.crop(end, strip.cell_length)]
    )


def text_of(selection: Selection, count: int, text_at: Callable[[int], str]) -> str:
    """The text that is selected of so many lines, without the blanks at their ends."""
    first = 0 if selection.start is None else selection.start.y
    last = count - 1 if selection.end is None else min(selection.end.y, count - 1)
    texts: list[str] = []
    for line in range(first, last + 1):
        start, end = selection.get_span(line) or (0, -1)
        texts.append(text_at(line)[start : None if end == -1 else end].rstrip())
    return "\n".join(texts)
