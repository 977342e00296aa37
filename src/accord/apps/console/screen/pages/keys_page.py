"""The page of all keys and commands (F1)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Static

from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.key_bindings import KEYS, NEWLINE, SEND, KeyBindings
from accord.apps.console.screen.widgets.lines_view import LinesView

_WIDEST_KEY, _GAP = 18, 4
"""The width of the column of keys, with a margin of two cells on each side; longer ones take several lines."""

_GROUPS: dict[str, list[tuple[str, str]]] = {
    "Anywhere": [],
    "In the prompt": [
        ("↑ ↓", "in the first or last line: the queue, then the prompt history"),
        ("?", "in an empty prompt: all keys"),
        ("/", "slash commands of the agent and of accord"),
        ("@", "mention a file; it is attached, also images and audio"),
        ("!", "run a shell command; the agent does not see it"),
        ("Ctrl+V", "paste a picture from the clipboard"),
        ("Ctrl+_, Ctrl+Y", "undo, redo"),
        ("Ctrl+D", "quit if the prompt is empty"),
    ],
    "When the agent asks": [
        ("y a n d", "allow once, allow always, reject once, reject always"),
        ("1 to 9", "the answer with that number"),
        ("Esc", "answer `cancelled`"),
        ("↑ ↓ ← →", "select an answer; ↓ scrolls the details first"),
        ("Enter", "give the selected answer"),
        ("PgUp PgDn Home End", "scroll the details"),
    ],
    "In the conversation": [
        ("j k", "next or previous block that folds"),
        ("Enter", "fold or unfold"),
        ("c", "copy"),
        ("e", "open its file in $EDITOR"),
        ("x", "stop a tool call or terminal, if the agent supports it"),
        ("Home End", "go to the beginning or the end"),
    ],
    "In the search": [
        ("↑ Enter", "previous match"),
        ("↓ Shift+Enter", "next match"),
        ("Esc", "end the search"),
    ],
    "In the queue": [
        ("Enter", "edit"),
        ("x", "remove"),
        ("s", "send now"),
    ],
}


def key_groups(keys: KeyBindings) -> dict[str, list[tuple[str, str]]]:
    """All keys and their meanings, by the place where they work."""
    everywhere = [(keys.label(binding.id or ""), binding.description) for binding in KEYS]
    newline = [keys.label(NEWLINE), *([f"\\ {keys.label(SEND)}"] if keys.of(SEND) else [])]
    prompt = [(keys.label(SEND), "send"), (", ".join(filter(None, newline)), "new line"), *_GROUPS["In the prompt"]]
    groups = _GROUPS | {"Anywhere": everywhere, "In the prompt": prompt}
    return {name: [(key or "-", meaning) for key, meaning in rows] for name, rows in groups.items()}


class KeysPage(ModalScreen[None]):
    """`commands` are the slash commands and their meanings. Esc, ? or the key that has opened it closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark", "dismiss", "Close")]

    def __init__(self, palette: Palette, keys: KeyBindings, commands: Mapping[str, str]) -> None:
        super().__init__()
        self._palette = palette
        self._close_keys = keys.of("keys")
        self._groups = key_groups(keys) | {"Commands": [(f"/{name}", meaning) for name, meaning in commands.items()]}

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text("Keys and commands", "bold"), classes="title", markup=False)
            yield LinesView(lambda _: [Part(self._draw)], self._palette, can_focus=True)
            yield Static(Text("↑↓ PgUp PgDn scroll · Esc close"), classes="hint", markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key in self._close_keys:
            event.stop()
            self.dismiss()

    def _draw(self, canvas: Canvas) -> list[Strip]:
        strips: list[Strip] = []
        longest = max(len(key) for keys in self._groups.values() for key, _ in keys)
        column = min(longest, _WIDEST_KEY)
        left, right = canvas.at_most(column), canvas.narrower(column + _GAP)
        for name, keys in self._groups.items():
            strips += [canvas.strip(Text(name, canvas.palette.heading))]
            for key, meaning in keys:
                cells = left.wrap(Text(exact_line(key), Style(bold=True)))
                texts = right.wrap(Text(meaning, canvas.palette.text))
                for cell, text in zip_longest(cells, texts, fillvalue=Strip([])):
                    strips.append(Strip([Segment("  "), *cell.extend_cell_length(column + _GAP - 2), *text]))
            strips.append(Strip([]))
        return strips
