"""Something long to scroll through that does not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from textual.geometry import Size

from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.drawing.ink import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part, first_lines
from accord.apps.console.screen.widgets.blocks_view import BlocksView

__all__ = ["LinesView"]

Compose: TypeAlias = Callable[[Ink], Iterable[Part]]


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
