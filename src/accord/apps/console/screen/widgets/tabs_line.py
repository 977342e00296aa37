"""The tabs line: the open sessions with their states."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.session import State
from accord.apps.console.screen.widgets.lines_view import Panel

LONGEST_TITLE, SHORTEST_TITLE = 24, 10
_MARKS = {"closed": "✗", "asks": "?", "stopping": "◐", "busy": "◐", "idle": ""}


class TabLabel(msgspec.Struct, frozen=True):
    """One tab. `has_news`: something happened there while another tab was on the screen."""

    title: str
    state: State
    has_news: bool


class TabsLine(Panel):
    """Shows two or more tabs; hidden for a single one."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs: list[TabLabel] = []
        self._current = 0
        self._palette: Palette | None = None

    def set_tabs(self, tabs: Sequence[TabLabel], current: int, palette: Palette) -> None:
        if (list(tabs), current, palette) != (self._tabs, self._current, self._palette):
            self._tabs, self._current, self._palette = list(tabs), current, palette
            self.set_class(len(tabs) < 2, "empty")
            self.refresh()

    def render(self) -> Text:
        """Shorten the titles if there is little room; then leave out the tabs farthest from the current one."""
        palette, width = self._palette, self.size.width
        if palette is None:
            return Text()
        tabs: list[Text] = []
        for longest in range(LONGEST_TITLE, SHORTEST_TITLE - 1, -1):
            tabs = [self._tab(index, longest, palette) for index in range(len(self._tabs))]
            if sum(tab.cell_len for tab in tabs) <= width:
                return Text(no_wrap=True).join(tabs)
        first = last = self._current
        while True:
            wider = [(first - 1, last)] if first > 0 else []
            wider += [(first, last + 1)] if last + 1 < len(tabs) else []
            fitting = [each for each in wider if self._line(tabs, *each, palette).cell_len <= width]
            if not fitting:
                return self._line(tabs, first, last, palette)
            first, last = min(fitting, key=lambda each: abs(each[0] + each[1] - 2 * self._current))

    def _tab(self, index: int, longest: int, palette: Palette) -> Text:
        tab = self._tabs[index]
        mark = "•" if tab.has_news and tab.state == "idle" else _MARKS[tab.state]
        style = palette.panel + Style(bold=True) if index == self._current else palette.muted
        style += Style(meta={"index": index})
        attention = palette.warning if tab.state == "asks" else palette.accent
        text = Text(f" {index + 1}", style).append(mark, style + attention)
        return text.append(f" {one_line(tab.title, longest)} ", style).append(" ", Style.null())

    def _line(self, tabs: Sequence[Text], first: int, last: int, palette: Palette) -> Text:
        """Some of the tabs, and the numbers of those before and after."""
        before, after = self._more(range(first), "←", palette), self._more(range(last + 1, len(tabs)), "→", palette)
        return Text(no_wrap=True).join([before, *tabs[first : last + 1], after])

    def _more(self, indexes: range, arrow: str, palette: Palette) -> Text:
        if not indexes:
            return Text()
        asks = any(self._tabs[index].state == "asks" for index in indexes)
        nearest = indexes[-1] if arrow == "←" else indexes[0]
        count = f"{arrow}{len(indexes)}" if arrow == "←" else f"{len(indexes)}{arrow}"
        style = Style(meta={"index": nearest})
        return Text.assemble((count, palette.muted + style), ("?" if asks else " ", palette.warning + style), " ")

    def on_click(self, event: events.Click) -> None:
        if "index" in event.style.meta:
            self.post_message(self.Chosen(event.style.meta["index"]))
