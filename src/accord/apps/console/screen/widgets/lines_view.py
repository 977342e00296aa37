"""Widgets for text: scrolling text that does not grow, text that is never cut off, and one-text panels."""

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
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part, first_lines
from accord.apps.console.screen.widgets.blocks_view import BlocksView

Compose: TypeAlias = Callable[[Canvas], Iterable[Part]]
TextForWidth: TypeAlias = Callable[[int], Text]
"""Makes the text for a width; an empty text takes no line."""


class _PartsBlock(Block):
    def __init__(self, compose: Compose) -> None:
        super().__init__()
        self._compose = compose

    def compose(self, canvas: Canvas) -> Sequence[Part]:
        return list(self._compose(canvas))

    def plain(self) -> str:
        return ""


class LinesView(BlocksView):
    """Shows the parts that a function makes. The function is called again for another width or palette."""

    class Moved(Message):
        """Other lines are visible, or their number has changed."""

    def __init__(self, compose: Compose, palette: Palette, *, id: str | None = None, can_focus: bool = False) -> None:
        super().__init__(id=id, can_focus=can_focus)
        self._block = _PartsBlock(compose)
        self.palette = palette
        self.show_blocks([self._block], follow=False)

    def show(self, compose: Compose) -> None:
        """Show something else, from its beginning."""
        self._block = _PartsBlock(compose)
        self.scroll_to(y=0, animate=False)
        self.show_blocks([self._block], follow=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        assert self.palette is not None
        canvas = Canvas(self.palette, width - self.scrollbar_gutter.width, self.screen.size.width)
        first_lines(self._block.parts(canvas), canvas, viewport.height)  # so that the height is exact if all fits
        return self._block.height

    @property
    def lines_below(self) -> int | None:
        """The number of lines below the last visible one; None until it is drawn for its width."""
        if self._canvas is None or not self._fits() or not has_final_height(self):
            return None
        return max(0, self._tops[-1] - self.scroll_offset.y - visible_rows(self))

    def settle(self) -> None:
        super().settle()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())


class FoldedText(Static):
    """A text of which no terminal cuts off a character, however wide it draws one. The text may depend on the width."""

    def __init__(
        self, text: Text | TextForWidth, palette: Palette, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__("", markup=False, id=id, classes=classes)
        self._text = text
        self._text_palette = palette

    def update(self, content: VisualType | TextForWidth = "", *, layout: bool = True) -> None:
        """Show another text."""
        self._text = content if isinstance(content, Text) or callable(content) else Text(str(content))
        self.refresh(layout=layout)

    def set_palette(self, palette: Palette) -> None:
        self._text_palette = palette
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Text:
        return Text("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Text]:
        canvas = Canvas(self._text_palette, width)
        text = self._text if isinstance(self._text, Text) else self._text(width)
        if not text.plain and text is not self._text:
            return []
        return [part for line in text.split("\n", allow_blank=True) for part in canvas.exact_lines(line)]


def has_final_height(widget: Widget) -> bool:
    """Whether the layout has applied the maximum height: before that, more lines seem to be visible."""
    most = widget.styles.inline.max_height
    return most is not None and widget.outer_size.height <= most.value


def visible_rows(widget: Widget) -> int:
    """The number of rows that are visible, down to the last one that no other widget covers."""
    region = widget.region
    for row in range(region.height, 0, -1):
        with suppress(NoWidget):
            found, _ = widget.screen.get_widget_at(region.x, region.y + row - 1)
            if widget in found.ancestors_with_self:
                return row
    return 0


class Panel(Widget):
    """Draws a text and is as high as its lines; the base of the plan, the queue, the tabs and others. Hidden while empty."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.content = Text()
        self.add_class("empty")

    def set_text(self, text: Text) -> None:
        if text == self.content and text.style == self.content.style:
            return
        is_resized = text.plain.count("\n") != self.content.plain.count("\n") or bool(text) != bool(self.content)
        self.content = text
        self.set_class(not text, "empty")
        self.refresh(layout=is_resized)

    def render(self) -> Text:
        return self.content
