"""The conversation on the screen: blocks that fold, with a cursor among them."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.search import Match, Search, Span, highlight
from accord.apps.console.screen.widgets.blocks_view import PAUSE, QUIET, SLICE, BlocksView
from accord.apps.console.screen.widgets.lines_view import Panel


class ConversationView(BlocksView, can_focus=True):
    """Shows the blocks of the session that is on the screen."""

    FOCUS_ON_CLICK = False  # the prompt keeps the focus
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move_cursor(1)", "Next block that folds"),
        ("k", "move_cursor(-1)", "Previous block that folds"),
        ("enter,space", "act('fold')", "Fold or unfold"),
        ("c", "act('copy')", "Copy"),
        ("e", "act('edit')", "Open in $EDITOR"),
        ("x", "act('stop')", "Stop"),
    ]

    class BlockAction(Message):
        """The user wants to copy, edit or stop a block."""

        def __init__(self, block: Block, action: str) -> None:
            super().__init__()
            self.block = block
            self.action = action

    class NewText(Message):
        """Something was added below the last visible line, or that has become visible."""

        def __init__(self, is_below: bool) -> None:
            super().__init__()
            self.is_below = is_below

    class Found(Message):
        """The matches of the search have changed, or another one is selected: its position, from 1."""

        def __init__(self, position: int, count: int, *, is_complete: bool) -> None:
            super().__init__()
            self.position = position
            self.count = count
            self.is_complete = is_complete

    class SearchEnded(Message):
        """Another conversation is shown."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cursor: Block | None = None
        self._search: Search | None = None
        self._match: Match | None = None
        """The selected match."""
        self._unfolded: Block | None = None
        """The block that was unfolded to show it."""
        self._origin: int | None = None
        """The index of the last block in the window when the search began."""
        self._search_timer: Timer | None = None
        self._spans: tuple[object, list[tuple[int, list[Span]]]] = (None, [])
        """The matches in the part that was painted last."""
        self._seen_end: tuple[int, int] = (0, 0)
        """The end of the conversation when it was last visible."""
        self._has_new_text = False

    def show(self, blocks: list[Block], *, follow: bool = True) -> None:
        """Show another conversation. The list may grow later."""
        self.cursor = None
        if self._search is not None:
            self.end_search()
            self.post_message(self.SearchEnded())
        self.show_blocks(blocks, follow=follow)
        self._update_new_text(is_seen=True)

    def fold_all(self, kind: type[Block], is_folded: bool) -> None:
        """Fold or unfold all blocks of a kind."""
        for block in self._blocks:
            if isinstance(block, kind):
                self._fold(block, is_folded)
        self.changed()

    def action_move_cursor(self, step: int) -> None:
        """Move to the next or previous block that can be folded."""
        foldable = [block for block in self._blocks if block.can_fold]
        if not foldable:
            return
        outside = len(foldable) if step < 0 else -1
        index = (foldable.index(self.cursor) if self.cursor in foldable else outside) + step
        self.cursor = foldable[max(0, min(index, len(foldable) - 1))]
        self._reveal(self.cursor)
        self.refresh()

    def action_act(self, action: str) -> None:
        block = self.cursor or (self._blocks[-1] if self._blocks else None)
        if block is None:
            return
        if action == "fold":
            self.toggle(block)
        else:
            self.post_message(self.BlockAction(block, action))

    def on_click(self, event: events.Click) -> None:
        """A folded block, or the first line of an unfolded one, is a button; the rest is for reading and selecting."""
        line = self.scroll_offset.y + event.y
        index = self.part_at(line)
        if index is None or self.text_selection is not None:
            return
        block, part = self.block_of(index)
        line -= self.top_of(index)
        if block.can_fold and line >= 0 and (block.is_folded or (part, line) == (0, 0)):
            self.cursor = block
            self.toggle(block)

    def toggle(self, block: Block) -> None:
        if self._fold(block, not block.is_folded):
            self.is_following = False
            self.paint()

    def _fold(self, block: Block, is_folded: bool) -> bool:
        has_changed = block.fold(is_folded)
        self._update_new_text(is_seen=has_changed and not self._has_new_text)  # the user did that
        return has_changed

    def settle(self) -> None:
        super().settle()
        self._update_new_text()
        self._search_soon()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._update_new_text()

    def _update_new_text(self, *, is_seen: bool = False) -> None:
        """Tell whether something new is below. `is_seen` if the end counts as seen, whether or not it is visible."""
        end = (len(self._blocks), self._blocks[-1].version if self._blocks else 0)
        if is_seen or self.is_following or self.scroll_offset.y + self.size.height >= self._tops[-1]:
            self._seen_end = end
        has_new_text = end != self._seen_end
        if has_new_text != self._has_new_text:
            self._has_new_text = has_new_text
            self.post_message(self.NewText(has_new_text))

    def _reveal(self, block: Block) -> None:
        self.settle()
        if block not in self._visible_blocks:
            return
        index = self._visible_blocks.index(block)
        end = self._first_parts[index + 1] if index + 1 < len(self._first_parts) else len(self._parts)
        top, bottom = self._tops[self._first_parts[index]], self._tops[end]
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, min(top, bottom - self.size.height)), animate=False)

    def search(self, text: str) -> None:
        """Search for a text, and select the match next to the end of the window. The former search ends."""
        self._stop_search()
        if self._origin is None:
            self._origin = self._last_visible()
        if text.strip():
            self._search = Search(text)
            self._run_search()
        else:
            self.post_message(self.Found(0, 0, is_complete=True))
        self.refresh()

    def end_search(self) -> None:
        """Show no matches any more. The selected match stays visible."""
        self._stop_search()
        self._unfolded = self._origin = None
        if self.scroll_offset.y + self.size.height >= self._tops[-1]:
            self.is_following = True
        self.refresh()

    def _stop_search(self) -> None:
        self._search = self._match = None
        self._spans = (None, [])
        if self._search_timer is not None:
            self._search_timer.stop()
            self._search_timer = None

    def move_match(self, step: int) -> None:
        """Select the next or the previous match; after the last comes the first."""
        matches = [] if self._search is None else self._search.matches
        if matches:
            index = matches.index(self._match) if self._match in matches else -1 if step > 0 else 0
            self._select(matches[(index + step) % len(matches)])
            self._tell_matches()

    def _run_search(self) -> None:
        """Search for a short time, and continue later."""
        search, canvas = self._search, self._canvas
        self._search_timer = None
        if search is None or canvas is None:
            return
        if not search.is_running:
            search.begin(self._blocks, canvas, len(self._blocks) - 1 if self._origin is None else self._origin)
        search.run(SLICE)
        if search.has_measured:
            super().settle()
        if search.is_complete and self._match is not None:
            self._match = search.found_again(self._match)
        if self._match is None and search.nearest is not None:
            self._select(search.nearest)
        self._tell_matches()
        self.refresh()
        if search.is_running:
            self._search_timer = self.set_timer(PAUSE, self._run_search)
        else:
            self._search_soon()

    def _search_soon(self) -> None:
        """Search what has changed."""
        search, canvas = self._search, self._canvas
        if search is None or canvas is None or self._search_timer is not None:
            return
        if not search.is_current(self._blocks, canvas):
            self._search_timer = self.set_timer(QUIET, self._run_search)

    def _last_visible(self) -> int:
        """The index of the last block in the window."""
        part = self.part_at(min(self.scroll_offset.y + self.size.height, self._tops[-1]) - 1)
        return len(self._blocks) - 1 if part is None else self._blocks.index(self.block_of(part)[0])

    def _select(self, match: Match) -> None:
        if self._unfolded not in (None, match.block):
            self._fold(self._unfolded, True)
            self._unfolded = None
        if self._fold(match.block, False):
            self._unfolded = match.block
        self._match = match
        self.is_following = False
        self.reveal(match.block, match.part, match.line)
        self.refresh()

    def _tell_matches(self) -> None:
        if self._search is not None:
            matches = self._search.matches
            position = matches.index(self._match) + 1 if self._match in matches else 0
            self.post_message(self.Found(position, len(matches), is_complete=self._search.is_complete))

    def _highlight_matches(self, strip: Strip, index: int, line: int) -> Strip:
        search, palette, canvas = self._search, self.palette, self._canvas
        if search is None or palette is None or canvas is None:
            return strip
        lines = self._parts[index].lines(canvas)
        if self._spans[0] is not lines:
            self._spans = (lines, list(search.spans(lines)))
        block, part = self.block_of(index) if self._spans[1] else (None, 0)
        for start, spans in self._spans[1]:
            match = self._match
            is_selected = match is not None and (match.block, match.part, match.start) == (block, part, start)
            for at, first, last in spans:
                if at == line:
                    strip = highlight(strip, first, last, palette.found_here if is_selected else palette.found)
        return strip

    def decorate(self, strip: Strip, index: int, line: int) -> Strip:
        palette = self.palette
        strip = self._highlight_matches(strip, index, line)
        if line or palette is None or not self.has_focus or self.cursor is None:
            return strip
        if self.block_of(index) != (self.cursor, 0):
            return strip
        return Strip([Segment("▶ ", palette.cursor), *strip.crop(2)])


class NewTextLine(Panel):
    """The line below a conversation that is scrolled up, when something new has arrived. A click goes to the end."""

    class Clicked(Message):
        """The user wants to see it."""

    def __init__(self, keys: str, *, id: str | None = None) -> None:
        """`keys` go to the end, for people."""
        super().__init__(id=id)
        self._keys = keys

    def show(self, is_below: bool, palette: Palette) -> None:
        text = ", ".join(filter(None, ["↓ new text below", self._keys]))
        self.set_text(Text(text, palette.accent) if is_below else Text())

    def set_palette(self, palette: Palette) -> None:
        self.show(bool(self.content), palette)

    def on_click(self) -> None:
        self.post_message(self.Clicked())
