"""Boxes to tick. Law: what is ticked has a sign, what is not has none; Textual tells them apart by colour alone."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Checkbox, SelectionList
from textual.widgets.option_list import OptionDoesNotExist

__all__ = ["TickBox", "TickList"]

_TICK = "✓"


class TickBox(Checkbox):
    """One box."""

    BUTTON_INNER = " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = _TICK if self.value else " "  # pyright: ignore[reportConstantRedefinition]  # Textual reads it
        super().watch_value()


class TickList(SelectionList[str]):
    """Several of them."""

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        try:
            choice = self.get_option_at_index(self.scroll_offset.y + y)
        except OptionDoesNotExist:
            return strip
        left, box, *rest = strip
        sign = _TICK if choice.value in self.selected else " "
        return Strip([left, Segment(sign, box.style), *rest])
