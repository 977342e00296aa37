"""The conversation on the screen: blocks that fold, with a cursor among them."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.widgets.blocks_view import BlocksView

__all__ = ["ConversationView"]


class ConversationView(BlocksView, can_focus=True):
    """What was said and done."""

    FOCUS_ON_CLICK = False  # whoever writes goes on writing
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
        self.cursor: Block | None = None

    def show(self, blocks: list[Block], *, follow: bool = True) -> None:
        """Another conversation; the list itself may go on growing."""
        self.cursor = None
        self.show_blocks(blocks, follow=follow)

    def block_at(self, line: int) -> Block | None:
        place = self.place_at(line)
        return None if place is None else self.block_of(place)[0]

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
        """A line that folds is a button; what it shows unfolded is for reading and selecting."""
        line = self.scroll_offset.y + event.y
        place = self.place_at(line)
        if place is None or self.text_selection is not None:
            return
        block, inside = self.block_of(place)
        line -= self.top_of(place)
        if block.can_fold and line >= 0 and (block.is_folded or (inside, line) == (0, 0)):
            self.cursor = block
            self.toggle(block)

    def toggle(self, block: Block) -> None:
        if block.fold(not block.is_folded):
            self.is_following = False
            self.paint()

    def _reveal(self, block: Block) -> None:
        self.settle()
        if block not in self._shown:
            return
        found = self._shown.index(block)
        end = self._begins[found + 1] if found + 1 < len(self._begins) else len(self._parts)
        top, bottom = self._tops[self._begins[found]], self._tops[end]
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif bottom > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=max(0, min(top, bottom - self.size.height)), animate=False)

    def decorated(self, strip: Strip, place: int, inside: int) -> Strip:
        palette = self.palette
        if inside or palette is None or not self.has_focus or self.cursor is None:
            return strip
        if self.block_of(place) != (self.cursor, 0):
            return strip
        return Strip([Segment("▶ ", palette.cursor), *strip.crop(2)])
