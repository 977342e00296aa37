"""A scrolling view of blocks. Law: only what is visible is drawn; a part outside the window costs one number.

Blocks have parts, and parts have heights; the sums of the heights give the part of each line. A part that was never drawn
at this width has an estimated height. The parts in the window are always drawn; the others are drawn in idle time. If that
corrects a height above the window, the window moves with it, so that the visible lines stay in place.
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
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part

FRAME = 1 / 30
SLICE = 0.008
PAUSE, QUIET = 0.03, 0.25
"""Parts with estimated heights are measured in slices with pauses, when nothing was painted for a while."""
CACHED_LINES, _CACHED_PARTS = 4000, 64
"""The number of drawn lines to keep, and of parts to keep in any case."""
_NOTHING = Strip([])
Anchor: TypeAlias = tuple[Block, int, int]


class BlocksView(ScrollView):
    """Shows a list of blocks that grows, and follows its end as long as the end is visible."""

    ALLOW_SELECT = True
    # The column of the scroll bar stays free: there is no event when the bar appears, and it would cover text.
    DEFAULT_CSS = "BlocksView { scrollbar-gutter: stable; scrollbar-size-horizontal: 0; }"

    def __init__(self, *, id: str | None = None, can_focus: bool | None = None) -> None:
        super().__init__(id=id, can_focus=can_focus)
        self._blocks: list[Block] = []
        self._parts: list[Part] = []
        self._tops: list[int] = [0]
        self._visible_blocks: list[Block] = []
        """The blocks that have parts; `_first_parts` has the index in `_parts` where each begins."""
        self._first_parts: list[int] = []
        self._palette: Palette | None = None
        self._canvas: Canvas | None = None
        self._timer: Timer | None = None
        self._idle: Timer | None = None
        self._next_estimate = 0
        self._cost = 0.0
        self._painted_at = 0.0
        self._cached: dict[int, Part] = {}
        self._pinned: Anchor | None = None
        """The line that stays in place when the next frame is painted, after scrolling."""
        self.is_following = True
        """Whether the view scrolls to the end when something is added."""

    @property
    def palette(self) -> Palette | None:
        return self._palette

    @palette.setter
    def palette(self, palette: Palette) -> None:
        self._palette = palette
        self._restart()

    def show_blocks(self, blocks: list[Block], *, follow: bool) -> None:
        """Show another list of blocks. The list may grow later."""
        for part in self._cached.values():
            part.drop_lines()
        self._cached.clear()
        self._blocks, self.is_following, self._pinned = blocks, follow, None
        self._restart()

    def changed(self) -> None:
        """A block has changed or was added: paint it in the next frame."""
        if self._timer is None and self.is_attached:
            self._timer = self.set_timer(max(FRAME, 4 * self._cost), self.paint)

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        self.is_following = True
        self.changed()

    def part_at(self, line: int) -> int | None:
        """The index of the part that has this line."""
        index = bisect_right(self._tops, line) - 1
        return index if 0 <= index < len(self._parts) else None

    def block_of(self, index: int) -> tuple[Block, int]:
        """The block of a part, and the part's index in it."""
        found = bisect_right(self._first_parts, index) - 1
        return self._visible_blocks[found], index - self._first_parts[found]

    def top_of(self, index: int) -> int:
        """The first line of a part."""
        return self._tops[index + 1] - self._parts[index].height

    def _restart(self) -> None:
        width = self.scrollable_content_region.width
        if self._palette is None or width <= 0:
            return
        self._canvas = Canvas(self._palette, width, self.screen.size.width)
        self._next_estimate = 0
        self.paint()

    def on_resize(self, event: events.Resize) -> None:
        if self._fits():
            self.paint()
        else:
            self._restart()

    def _fits(self) -> bool:
        """Whether the lines are drawn for the current widths."""
        if not self.is_attached:  # a widget that was just removed is drawn once more, and has no screen
            return True
        canvas, widths = self._canvas, (self.scrollable_content_region.width, self.screen.size.width)
        return canvas is not None and (canvas.width, canvas.terminal_width) == widths

    def _fit(self) -> None:
        if not self._fits():
            self._restart()

    def on_unmount(self) -> None:
        self._timer = self._idle = None

    def paint(self) -> None:
        """Paint at once, without waiting for the next frame."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._canvas is None:
            return
        begin = perf_counter()
        self.settle()
        self.refresh()
        self._cost = min(0.1, perf_counter() - begin)
        self._painted_at = begin
        self._measure_soon()

    def settle(self) -> None:
        """Draw the visible parts and scroll to the right line."""
        anchor = self._anchor()
        self._draw_visible(anchor)
        for _ in range(3):  # a height may differ from its estimate, which makes other parts visible
            self._sum_heights()
            self._scroll_to_anchor(anchor)
            if not self._draw_window():
                break
        self._drop_cached()

    def reveal(self, block: Block, part: int, line: int) -> None:
        """Scroll to a line of a part of a block, unless it is visible."""
        if self._canvas is None or part >= len(block.parts(self._canvas)):
            return
        self.settle()
        if block not in self._visible_blocks:
            return
        index = self._first_parts[self._visible_blocks.index(block)] + part
        at = self.top_of(index) + line
        if not self.scroll_offset.y <= at < self.scroll_offset.y + self.size.height:
            self.is_following = False
            self._pinned = (block, part, at - self._tops[index] - self.size.height // 3)
            self.paint()

    def _anchor(self) -> Anchor | None:
        """The line to keep in place: a block, the index of a part, and the window's offset from its top."""
        pinned, self._pinned = self._pinned, None
        if self.is_following:
            return None
        return pinned or self._anchor_at(self.scroll_offset.y)

    def _anchor_at(self, line: int) -> Anchor | None:
        index = self.part_at(line)
        return None if index is None else (*self.block_of(index), line - self._tops[index])

    def _draw_visible(self, anchor: Anchor | None) -> None:
        """Draw the parts that will be visible: up from the end, or down from the anchor."""
        canvas, room = self._canvas, self.size.height
        assert canvas is not None
        if anchor is None or anchor[0] not in self._blocks:
            self._draw_parts(_upwards(self._blocks, canvas), room)
            return
        block, part, line = anchor
        index = self._blocks.index(block)
        parts = block.parts(canvas)
        self._draw_parts(chain(parts[part:], _downwards(self._blocks[index + 1 :], canvas)), room + line)
        if line < 0:
            self._draw_parts(chain(reversed(parts[:part]), _upwards(self._blocks[:index], canvas)), -line)

    def _draw_parts(self, parts: Iterable[Part], room: int) -> None:
        """Draw parts until there are `room` lines."""
        assert self._canvas is not None
        for part in parts:
            if room <= 0:
                break
            room -= len(part.lines(self._canvas))
            self._cache(part)

    def _scroll_to_anchor(self, anchor: Anchor | None) -> None:
        total = self._tops[-1]
        size = Size(self.scrollable_content_region.width, total)
        if self.virtual_size != size:
            self.virtual_size = size
        target = last = max(0, total - self.size.height)
        if not self.is_following:
            target = min(last, self.scroll_offset.y if anchor is None else self._line_of(*anchor))
        if target != self.scroll_offset.y:
            self.set_scroll(None, target)  # without the watcher: this is not scrolling by the user
            self.scroll_target_y = target  # where the wheel continues
            self.vertical_scrollbar.position = target

    def _line_of(self, block: Block, part: int, line: int) -> int:
        """The current line of an anchor; the last line of the block if that has become shorter."""
        if block not in self._visible_blocks:
            return self.scroll_offset.y
        first = self._first_parts[self._visible_blocks.index(block)]
        if part >= len(block.known_parts):
            return max(self._tops[first], self._tops[first + len(block.known_parts)] - 1)
        return self._tops[first + part] + line

    def _sum_heights(self) -> None:
        self._visible_blocks = [block for block in self._blocks if block.known_parts]
        self._first_parts, self._parts = [], []
        heights: list[int] = []
        was_line = True
        for block in self._visible_blocks:
            parts = block.known_parts
            is_line = block.can_fold and not block.stands_alone and len(parts) == 1 and parts[0].height == 1
            first = len(heights)
            self._first_parts.append(first)
            self._parts += parts
            heights += [part.height for part in parts]
            if first and not (is_line and was_line):
                heights[first] += 1  # a blank line above it
            was_line = is_line
        self._tops = list(accumulate(heights, initial=0))

    def _draw_window(self) -> bool:
        """Draw the parts in the window; returns whether a height differs from its estimate or a block has other parts."""
        canvas, is_wrong, moved = self._canvas, False, 0
        assert canvas is not None
        end = self.scroll_offset.y + max(1, self.size.height)
        for index in range(self.part_at(self.scroll_offset.y) or 0, len(self._parts)):
            if self._tops[index] + moved > end:
                break
            block, _ = self.block_of(index)
            if not block.is_composed(canvas):
                block.parts(canvas)
                return True
            part = self._parts[index]
            before = part.height
            part.lines(canvas)
            self._cache(part)
            moved += part.height - before
            is_wrong = is_wrong or part.height != before
        return is_wrong

    def _cache(self, part: Part) -> None:
        """Keep the lines of a part until enough other parts have been drawn."""
        self._cached.pop(id(part), None)
        self._cached[id(part)] = part

    def _drop_cached(self) -> None:
        lines = sum(part.height for part in self._cached.values())
        while lines > CACHED_LINES and len(self._cached) > _CACHED_PARTS:
            oldest = self._cached.pop(next(iter(self._cached)))
            lines -= oldest.height
            oldest.drop_lines()

    def _measure_soon(self) -> None:
        if self._idle is None and self._next_estimate < len(self._blocks):
            self._idle = self.set_timer(PAUSE, self._measure)

    def _measure(self) -> None:
        """Draw a few of the parts with estimated heights, in idle time."""
        self._idle = None
        canvas, begin = self._canvas, perf_counter()
        if canvas is None or begin - self._painted_at < QUIET:
            self._measure_soon()
            return
        is_wrong = False
        for part in self._estimated_parts(canvas):
            before = part.height
            part.lines(canvas)
            if id(part) not in self._cached:
                part.drop_lines()
            is_wrong = is_wrong or part.height != before
            if perf_counter() - begin > SLICE:
                break
        if is_wrong:
            self.settle()
            self.refresh()
        self._measure_soon()

    def _estimated_parts(self, canvas: Canvas) -> Iterator[Part]:
        while self._next_estimate < len(self._blocks):
            for part in self._blocks[self._next_estimate].parts(canvas):
                if not part.is_measured(canvas):
                    yield part
            self._next_estimate += 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        old, new = round(old_value), round(new_value)
        if self._canvas is not None and old != new:
            self.is_following = new_value >= self.max_scroll_y
            anchor = self._pinned or self._anchor_at(old)
            self._pinned = None
            if self._draw_window():
                if anchor is not None and abs(new - old) <= self.size.height:  # the lines that are read stay
                    self._pinned = (anchor[0], anchor[1], anchor[2] + new - old)
                self.call_later(self.paint)
            self._drop_cached()
        super().watch_scroll_y(old_value, new_value)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._canvas is None:  # at once: the first frame has the blocks
            self._fit()
        elif not self._fits():  # there is no Resize event if a region was requested before the first layout
            self.call_later(self._fit)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self.scroll_offset.y + y
        style = self.rich_style
        strip = self._line(line)
        strip = strip.crop_extend(0, width, style).apply_style(style)
        return highlight_selection(self, strip, line).apply_offsets(0, line)

    def _line(self, line: int) -> Strip:
        index = self.part_at(line)
        if self._canvas is None or index is None:
            return _NOTHING
        lines = self._parts[index].lines(self._canvas)
        within = line - (self._tops[index + 1] - len(lines))
        return self.decorate(lines[within], index, within) if 0 <= within < len(lines) else _NOTHING

    def decorate(self, strip: Strip, index: int, line: int) -> Strip:
        """Change a line before it is painted: the part's index, and the line's index in the part."""
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(selection, self._tops[-1], lambda line: self._line(line).text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _downwards(blocks: list[Block], canvas: Canvas) -> Iterator[Part]:
    return (part for block in blocks for part in block.parts(canvas))


def _upwards(blocks: list[Block], canvas: Canvas) -> Iterator[Part]:
    return (part for block in reversed(blocks) for part in reversed(block.parts(canvas)))


def highlight_selection(view: Widget, strip: Strip, line: int) -> Strip:
    """Highlight the selected text of a line."""
    selection = view.text_selection
    span = None if selection is None else selection.get_span(line)
    if span is None:
        return strip
    text = strip.text
    start, end = (cell_len(text[:index]) if index != -1 else strip.cell_length for index in span)
    style = view.screen.get_component_rich_style("screen--selection")
    return Strip.join(
        [strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end, strip.cell_length)]
    )


def selected_text(selection: Selection, count: int, text_at: Callable[[int], str]) -> str:
    """The selected text of `count` lines, without blanks at the ends of lines."""
    first = 0 if selection.start is None else selection.start.y
    last = count - 1 if selection.end is None else min(selection.end.y, count - 1)
    texts: list[str] = []
    for line in range(first, last + 1):
        start, end = selection.get_span(line) or (0, -1)
        texts.append(text_at(line)[start : None if end == -1 else end].rstrip())
    return "\n".join(texts)
