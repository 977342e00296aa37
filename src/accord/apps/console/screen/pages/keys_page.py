"""The keys page (F1): all keys and commands, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Static

from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.drawing.palette import Canvas, Palette, prefix_lines
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.main_screen import KEYS
from accord.apps.console.screen.widgets.lines_view import LinesView

_WIDEST_KEY = 36
_NAMES = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "left": "←", "right": "→", "enter": "Enter"}

GROUPS: dict[str, list[tuple[str, str]]] = {
    "Anywhere": [],
    "In the prompt": [
        ("Enter", "send"),
        ("Alt+Enter, Shift+Enter, Ctrl+J, \\ Enter", "new line"),
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
    "In the queue": [
        ("Enter", "edit"),
        ("x", "remove"),
        ("s", "send now"),
    ],
}


def key_label(keys: str) -> str:
    """The names of keys as printed on a keyboard."""
    return ", ".join(
        "+".join(_NAMES.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))
        for key in keys.split(",")
    )


def groups() -> dict[str, list[tuple[str, str]]]:
    """All keys; the first group has the bindings of the main screen."""
    everywhere = [(key_label(binding.key), binding.description) for binding in KEYS]
    return {name: everywhere if name == "Anywhere" else keys for name, keys in GROUPS.items()}


class KeysPage(ModalScreen[None]):
    """`commands` are the slash commands and their meanings. Esc, F1 or ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f1,q,question_mark", "dismiss", "Close")]

    def __init__(self, palette: Palette, commands: Mapping[str, str]) -> None:
        super().__init__()
        self._palette = palette
        self._groups = groups() | {"Commands": [(f"/{name}", meaning) for name, meaning in commands.items()]}

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text(" Keys and commands", "bold"), classes="title", markup=False)
            yield LinesView(lambda _: [Part(self._draw)], self._palette, can_focus=True)
            yield Static(Text("↑↓ PgUp PgDn scroll · esc close"), classes="hint", markup=False)

    def _draw(self, canvas: Canvas) -> list[Strip]:
        strips: list[Strip] = []
        for name, keys in self._groups.items():
            strips += [canvas.strip(Text(name, canvas.palette.heading))]
            column = min(max(len(key) for key, _ in keys), _WIDEST_KEY) + 4
            inner = canvas.narrower(column)
            for key, meaning in keys:
                first, rest = (
                    Segment(f"  {exact_line(key, _WIDEST_KEY)}".ljust(column), Style(bold=True)),
                    Segment(" " * column),
                )
                strips += prefix_lines(inner.wrap(Text(meaning, canvas.palette.text)), first, rest)
            strips.append(Strip([]))
        return strips
