"""The list above the prompt: commands and files to choose from while writing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from accord.apps.console.screen.completion_choice import Completion
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.widgets.panels import Panel

__all__ = ["CompletionPanel"]

MOST_LINES = 11


class CompletionPanel(Panel):
    """Shows what fits; one of them is chosen."""

    class Taken(Message):
        """The chosen one was clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._offered: list[Completion] = []
        self._place = 0
        self._palette: Palette | None = None

    @property
    def is_open(self) -> bool:
        return bool(self._offered)

    @property
    def chosen(self) -> Completion | None:
        return self._offered[self._place] if self._offered else None

    def offer(self, offered: Sequence[Completion], palette: Palette) -> None:
        if list(offered) != self._offered:
            self._place = 0
        self._offered, self._palette = list(offered), palette
        self._draw()

    def move(self, step: int) -> None:
        if self._offered:
            self._place = (self._place + step) % len(self._offered)
            self._draw()

    def on_click(self, event: events.Click) -> None:
        place = event.style.meta.get("place")
        if place is not None and place < len(self._offered):
            self._place = place
            self.post_message(self.Taken())

    def _draw(self) -> None:
        palette = self._palette
        if palette is None or not self._offered:
            self.put(Text())
            return
        widest = min(30, max(len(each.shown) for each in self._offered))
        lines: list[Text] = []
        most = MOST_LINES - (len(self._offered) > MOST_LINES)
        first = max(0, min(self._place - most // 2, len(self._offered) - most))
        for place, each in enumerate(self._offered[first : first + most], first):
            mark = (" ▸ ", palette.accent) if place == self._place else ("   ", palette.text)
            style = palette.accent if place == self._place else palette.text
            line = Text.assemble(mark, (each.shown.ljust(widest), style), (f"  {each.meaning}", palette.muted))
            line.stylize(Style(meta={"place": place}))
            lines.append(line)
        if len(self._offered) > most:
            lines.append(Text(f"   {self._place + 1} of {len(self._offered)}, ↑↓ shows the others", palette.muted))
        self.put(Text("\n").join(lines))
