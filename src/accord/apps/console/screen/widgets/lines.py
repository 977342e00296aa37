"""Lines that are there already, to scroll through."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from accord.apps.console.screen.drawing.ink import Ink, Palette

__all__ = ["LinesView"]


class LinesView(ScrollView):
    """Shows what a function draws; it is asked again for another width or palette."""

    def __init__(
        self, draw: Callable[[Ink], list[Strip]], palette: Palette, *, id: str | None = None, can_focus: bool = False
    ) -> None:
        super().__init__(id=id, can_focus=can_focus)
        self._draw = draw
        self._palette = palette
        self._lines: list[Strip] = []
        self._width = 0

    def show(self, draw: Callable[[Ink], list[Strip]]) -> None:
        """Something else, from its beginning."""
        self._draw = draw
        self.scroll_to(y=0, animate=False)
        self.redraw()

    def redraw(self) -> None:
        self._width = self.scrollable_content_region.width
        if self._width > 0:
            self._lines = self._draw(Ink(self._palette, self._width))
            self.virtual_size = Size(self._width, len(self._lines))
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width:
            self._lines = self._draw(Ink(self._palette, width))
            self._width = width
            self.virtual_size = Size(width, len(self._lines))
        return len(self._lines)

    def on_resize(self, event: events.Resize) -> None:
        if self.scrollable_content_region.width != self._width:
            self.redraw()

    def render_line(self, y: int) -> Strip:
        line = self.scroll_offset.y + y
        style = self.rich_style
        strip = self._lines[line] if 0 <= line < len(self._lines) else Strip([])
        return strip.crop_extend(0, self.size.width, style).apply_style(style)
