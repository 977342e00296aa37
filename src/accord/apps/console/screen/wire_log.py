"""The wire log: the last messages to and from the agent and its stderr, with times, and its page (Ctrl+L)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Literal

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

from accord.apps.console.sanitizer import one_line, strip_sequences, visible
from accord.apps.console.screen.drawing.code import draw_code
from accord.apps.console.screen.drawing.incremental_text import IncrementalLines
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.errors.escape_sequences import clean_output

_MOST_ENTRIES = 5000
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST = 64 * 1024


class LogEntry(msgspec.Struct, frozen=True):
    """A message, or a chunk of stderr. Long `data` is cut; `size` is its full size."""

    when: float
    kind: Literal["sent", "received", "stderr"]
    data: bytes
    size: int

    @property
    def method(self) -> str:
        """The method, the kind of update, or the id of the response."""
        if self.kind == "stderr":
            return ""
        try:
            frame = msgspec.json.decode(self.data, type=_Frame)
        except msgspec.DecodeError:
            return "…" if len(self.data) < self.size else "not JSON"
        if frame.method == "session/update" and frame.params is not None:
            return f"update {frame.params.update.tag}"
        if frame.method is not None:
            return frame.method
        return f"response to {frame.id}" if frame.error is None else f"error for {frame.id}"


class _Update(msgspec.Struct, frozen=True, rename={"tag": "sessionUpdate"}):
    tag: str = "?"


class _Params(msgspec.Struct):
    update: _Update = _Update()


class _Frame(msgspec.Struct):
    id: object = None
    method: str | None = None
    params: _Params | None = None
    error: object = None


class WireLog:
    """A bounded log; the oldest entries are dropped."""

    def __init__(self) -> None:
        self.entries: deque[LogEntry] = deque()
        self._bytes = 0

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        self._add(direction, frame)

    def stderr(self, data: bytes) -> None:
        self._add("stderr", data)

    @property
    def last_stderr(self) -> str:
        """The last line of the agent's stderr."""
        for entry in reversed(self.entries):
            if entry.kind == "stderr" and (text := clean_output(entry.data.decode("utf-8", "replace")).strip()):
                return text.rpartition("\n")[2]
        return ""

    def _add(self, kind: Literal["sent", "received", "stderr"], data: bytes) -> None:
        entry = LogEntry(time.time(), kind, bytes(data[:_LONGEST]), len(data))
        self.entries.append(entry)
        self._bytes += len(entry.data)
        while self._bytes > _MOST_BYTES or len(self.entries) > _MOST_ENTRIES:
            self._bytes -= len(self.entries.popleft().data)


_MOST_SHOWN = 1000


class LogPage(ModalScreen[None]):
    """Lists the last entries and shows the selected one in full. F5 refreshes the list."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close"), ("f5", "refresh_list", "Refresh")]
    AUTO_FOCUS = "OptionList"

    def __init__(self, log: WireLog, palette: Palette) -> None:
        super().__init__()
        self._wire_log = log
        self._palette = palette
        self._matches: list[LogEntry] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text("Wire log", "bold"), classes="title", markup=False)
            yield Input(placeholder="search", compact=True)
            yield OptionList(markup=False, compact=True)
            yield LinesView(lambda _: [], self._palette, can_focus=True)
            yield Static(Text("↑↓ select · Tab to the text · F5 refresh · Esc close"), classes="hint", markup=False)

    def on_mount(self) -> None:
        self.action_refresh_list()

    def action_refresh_list(self) -> None:
        text = self.query_one(Input).value.encode()
        self._matches = [entry for entry in self._wire_log.entries if text in entry.data][-_MOST_SHOWN:]
        options = self.query_one(OptionList)
        options.set_options([Option(self._line(entry)) for entry in self._matches])
        if self._matches:
            options.highlighted = len(self._matches) - 1

    @on(Input.Changed)
    def search(self) -> None:
        self.action_refresh_list()

    @on(OptionList.OptionHighlighted)
    def show_entry(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index < len(self._matches):
            entry = self._matches[event.option_index]
            self.query_one(LinesView).show(lambda _: _parts(entry))

    def _line(self, entry: LogEntry) -> Text:
        when = time.strftime("%H:%M:%S", time.localtime(entry.when)) + f".{int(entry.when * 1000) % 1000:03}"
        mark = {"sent": "→", "received": "←", "stderr": "!"}[entry.kind]
        what = one_line(entry.method) or one_line(strip_sequences(entry.data.decode("utf-8", "replace")))
        # Without colours, because it may be the selected line.
        return Text(f"{when} {mark} {entry.size:>8} B  {what}", no_wrap=True, overflow="ellipsis")


def _parts(entry: LogEntry) -> Sequence[Part]:
    text = entry.data.decode("utf-8", "replace")
    if entry.kind == "stderr":
        return IncrementalLines(_draw_text, text=strip_sequences(text)).parts
    with suppress(msgspec.DecodeError):
        text = msgspec.json.format(entry.data, indent=2).decode("utf-8", "replace")
    return IncrementalLines(_draw_json, text=visible(text)).parts


def _draw_text(text: str, canvas: Canvas) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in canvas.fold(Text(line))]


def _draw_json(text: str, canvas: Canvas) -> list[Strip]:
    return draw_code(text, "json", canvas)
