"""Something long to scroll through that does not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

from rich.text import Text
from textual.errors import NoWidget
from textual.geometry import Size
from textual.message import Message
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part, first_lines
from accord.apps.console.screen.widgets.blocks_view import BlocksView

__all__ = ["FoldedText", "LinesView", "has_its_height", "rows_on_screen"]

Compose: TypeAlias = Callable[[Ink], Iterable[Part]]
ByWidth: TypeAlias = Callable[[int], Text]
"""What a text is for a width; an empty one takes no line."""


class _Sheet(Block):
    def __init__(self, compose: Compose) -> None:
        super().__init__()
        self._compose = compose

    def compose(self, ink: Ink) -> Sequence[Part]:
        return list(self._compose(ink))

    def plain(self) -> str:
        return ""


class LinesView(BlocksView):
    """Shows the parts that a function makes; it is asked again for another width or palette."""

    class Moved(Message):
        """Other lines are in view, or there are more or fewer of them."""

    def __init__(self, compose: Compose, palette: Palette, *, id: str | None = None, can_focus: bool = False) -> None:
        super().__init__(id=id, can_focus=can_focus)
        self._sheet = _Sheet(compose)
        self.palette = palette
        self.show_blocks([self._sheet], follow=False)

    def show(self, compose: Compose) -> None:
        """Something else, from its beginning."""
        self._sheet = _Sheet(compose)
        self.scroll_to(y=0, animate=False)
        self.show_blocks([self._sheet], follow=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        assert self.palette is not None
        ink = Ink(self.palette, width - self.scrollbar_gutter.width)
        first_lines(self._sheet.parts(ink), ink, viewport.height)  # so that it is no guess where it matters
        return self._sheet.height

    @property
    def lines_below(self) -> int | None:
        """How many lines are below the last one that is on the screen; None before it is drawn for its width."""
        if self._ink is None or not self._fits() or not has_its_height(self):
            return None
        return max(0, self._tops[-1] - self.scroll_offset.y - rows_on_screen(self))

    def settle(self) -> None:
        super().settle()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())


class FoldedText(Static):
    """A text of which every line is in view in any terminal, whatever it takes for wide. It may depend on the room that it has."""

    def __init__(
        self, text: Text | ByWidth, palette: Palette, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__("", markup=False, id=id, classes=classes)
        self._text = text
        self._ink_palette = palette

    def update(self, content: VisualType | ByWidth = "", *, layout: bool = True) -> None:
        """Another text."""
        self._text = content if isinstance(content, Text) or callable(content) else Text(str(content))
        self.refresh(layout=layout)

    def put_palette(self, palette: Palette) -> None:
        """In other colours."""
        self._ink_palette = palette
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Text:
        return Text("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Text]:
        ink = Ink(self._ink_palette, width)
        text = self._text if isinstance(self._text, Text) else self._text(width)
        if not text.plain and text is not self._text:
            return []
        return [part for line in text.split("\n", allow_blank=True) for part in ink.exact_lines(line)]


def has_its_height(widget: Widget) -> bool:
    """Whether it is no higher than it was told to be: until the next layout it may be, and more lines seem to be in view."""
    most = widget.styles.inline.max_height
    return most is not None and widget.outer_size.height <= most.value


def rows_on_screen(widget: Widget) -> int:
    """How many lines of its window can be seen, down to the last one that nothing else covers."""
    region = widget.region
    for row in range(region.height, 0, -1):
        with suppress(NoWidget):
            found, _ = widget.screen.get_widget_at(region.x, region.y + row - 1)
            if widget in found.ancestors_with_self:
                return row
    return 0
