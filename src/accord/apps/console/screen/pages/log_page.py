"""The log: what went over the wire and what the agent wrote on stderr, with times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

import msgspec
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from accord.apps.console.sanitizer import one_line, visible, without_sequences
from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.incremental_text import GrowingLines
from accord.apps.console.screen.drawing.palette import Ink, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.widgets.lines import LinesView
from accord.apps.console.screen.wire_log import Entry, Traffic

__all__ = ["LogPage"]

_MOST_SHOWN = 1000


class LogPage(ModalScreen[None]):
    """Lists the last frames; the chosen one is shown whole. F5 brings what has come since."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close"), ("f5", "refresh_list", "Newest")]
    AUTO_FOCUS = "OptionList"

    def __init__(self, traffic: Traffic, palette: Palette) -> None:
        super().__init__()
        self._traffic = traffic
        self._palette = palette
        self._shown: list[Entry] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text(" Log", "bold"), classes="title", markup=False)
            yield Input(placeholder="search", compact=True)
            yield OptionList(markup=False, compact=True)
            yield LinesView(lambda _: [], self._palette, can_focus=True)
            yield Static(Text("↑↓ choose · tab to the text · F5 newest · esc close"), classes="hint", markup=False)

    def on_mount(self) -> None:
        self.action_refresh_list()

    def action_refresh_list(self) -> None:
        wanted = self.query_one(Input).value.encode()
        fitting = [entry for entry in self._traffic.entries if wanted in entry.data]
        self._shown = fitting[-_MOST_SHOWN:]
        options = self.query_one(OptionList)
        options.set_options([Option(self._line(entry)) for entry in self._shown])
        if self._shown:
            options.highlighted = len(self._shown) - 1

    @on(Input.Changed)
    def search(self) -> None:
        self.action_refresh_list()

    @on(OptionList.OptionHighlighted)
    def show_entry(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._shown):
            entry = self._shown[event.option_index]
            self.query_one(LinesView).show(lambda _: _parts(entry))

    def _line(self, entry: Entry) -> Text:
        when = time.strftime("%H:%M:%S", time.localtime(entry.when)) + f".{int(entry.when * 1000) % 1000:03}"
        mark = {"sent": "→", "received": "←", "stderr": "!"}[entry.kind]
        what = one_line(entry.method) or one_line(without_sequences(entry.data.decode("utf-8", "replace")))
        # Without colours: it may be the chosen line.
        return Text(f"{when} {mark} {entry.size:>8} B  {what}", no_wrap=True, overflow="ellipsis")


def _parts(entry: Entry) -> Sequence[Part]:
    text = entry.data.decode("utf-8", "replace")
    if entry.kind == "stderr":
        return GrowingLines(_folded, text=without_sequences(text)).parts
    with suppress(msgspec.DecodeError):
        text = msgspec.json.format(entry.data, indent=2).decode("utf-8", "replace")
    return GrowingLines(_json, text=visible(text)).parts


def _folded(text: str, ink: Ink) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in ink.folded(Text(line))]


def _json(text: str, ink: Ink) -> list[Strip]:
    return draw_code(text, "json", ink)
