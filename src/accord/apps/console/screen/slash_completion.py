"""Completions of the text before the cursor, and the panel that lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message

from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.mentions import Completion, mention_completions
from accord.apps.console.screen.widgets.lines_view import Panel
from accord.apps.console.slash_commands import command_completions
from accord.session.entities import SlashCommand

_COMMAND = re.compile(r"^/([\w.:-]*)$")


def completions(
    before: str, is_first_line: bool, commands: Sequence[SlashCommand], files: Sequence[str]
) -> list[Completion]:
    """The completions of the text before the cursor: files after `@`, commands after `/` at the beginning."""
    found = mention_completions(before, files)
    if found is None and is_first_line and (match := _COMMAND.match(before)):
        return command_completions(match[1], commands)
    return found or []


MOST_LINES = 11


class CompletionPanel(Panel):
    """Lists the completions; one of them is selected."""

    class Chosen(Message):
        """The selected completion was clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._completions: list[Completion] = []
        self._index = 0
        self._palette: Palette | None = None

    @property
    def is_open(self) -> bool:
        return bool(self._completions)

    @property
    def selected(self) -> Completion | None:
        return self._completions[self._index] if self._completions else None

    def set_completions(self, completions: Sequence[Completion], palette: Palette) -> None:
        if list(completions) != self._completions:
            self._index = 0
        self._completions, self._palette = list(completions), palette
        self._draw()

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self._draw()

    def move(self, step: int) -> None:
        if self._completions:
            self._index = (self._index + step) % len(self._completions)
            self._draw()

    def on_click(self, event: events.Click) -> None:
        index = event.style.meta.get("index")
        if index is not None and index < len(self._completions):
            self._index = index
            self.post_message(self.Chosen())

    def _draw(self) -> None:
        palette = self._palette
        if palette is None or not self._completions:
            self.set_text(Text())
            return
        widest = min(30, max(len(each.label) for each in self._completions))
        lines: list[Text] = []
        most = MOST_LINES - (len(self._completions) > MOST_LINES)
        first = max(0, min(self._index - most // 2, len(self._completions) - most))
        for index, each in enumerate(self._completions[first : first + most], first):
            mark = (" ▸ ", palette.accent) if index == self._index else ("   ", palette.text)
            style = palette.accent if index == self._index else palette.text
            line = Text.assemble(mark, (each.label.ljust(widest), style), (f"  {each.meaning}", palette.muted))
            line.stylize(Style(meta={"index": index}))
            lines.append(line)
        if len(self._completions) > most:
            lines.append(Text(f"   {self._index + 1} of {len(self._completions)}, ↑↓ for more", palette.muted))
        self.set_text(Text("\n").join(lines))
