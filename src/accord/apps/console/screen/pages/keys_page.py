"""F1: what each key does."""

from __future__ import annotations

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

from accord.apps.console.screen.drawing.palette import Ink, Palette, beside
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.main_screen import KEYS
from accord.apps.console.screen.widgets.lines import LinesView

__all__ = ["GROUPS", "KeysPage", "shown_key"]

_NAMES = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "left": "←", "right": "→", "enter": "Enter"}

GROUPS: dict[str, list[tuple[str, str]]] = {
    "Anywhere": [],
    "In the prompt": [
        ("Enter", "send"),
        ("Shift+Enter, Ctrl+J, \\ Enter", "a new line"),
        ("↑ ↓", "at the edge of the text: what waits, then what you have sent before"),
        ("/", "commands of the agent and of accord"),
        ("@", "files, sent along as the agent can take them; also images and audio"),
        ("!", "a shell command of your own; the agent does not hear of it"),
        ("Ctrl+V", "paste the picture that is in the clipboard"),
        ("Ctrl+_, Ctrl+Y", "undo, and do it again"),
        ("Ctrl+D", "leave, when the prompt is empty"),
    ],
    "When the agent asks": [
        ("y a n d", "allow once, allow always, reject once, reject always"),
        ("1 to 9", "the answer with that number"),
        ("Esc", "neither: the answer is `cancelled`"),
        ("↑ ↓ PgUp PgDn", "scroll through what it wants to do"),
    ],
    "In the conversation": [
        ("j k", "the next thing that folds, the one before"),
        ("Enter", "fold or unfold it"),
        ("c", "copy it"),
        ("e", "open its file in $EDITOR"),
        ("x", "stop it, where the agent can stop one tool call or terminal"),
        ("Home End", "the beginning, the end"),
    ],
    "In what waits": [
        ("Enter", "edit it"),
        ("x", "remove it"),
        ("s", "send it now"),
    ],
}


def shown_key(keys: str) -> str:
    """As it is printed on a keyboard."""
    return ", ".join(
        "+".join(_NAMES.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))
        for key in keys.split(",")
    )


def groups() -> dict[str, list[tuple[str, str]]]:
    """All keys; the first group is what the main screen binds."""
    everywhere = [(shown_key(binding.key), binding.description) for binding in KEYS]
    return {name: everywhere if name == "Anywhere" else keys for name, keys in GROUPS.items()}


class KeysPage(ModalScreen[None]):
    """Esc or F1 closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f1,q", "dismiss", "Close")]

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text(" Keys", "bold"), classes="title", markup=False)
            yield LinesView(lambda _: [Part(_draw)], self._palette, can_focus=True)
            yield Static(Text("↑↓ PgUp PgDn scroll · esc close"), classes="hint", markup=False)


def _draw(ink: Ink) -> list[Strip]:
    strips: list[Strip] = []
    for name, keys in groups().items():
        strips += [ink.strip(Text(name, ink.palette.heading))]
        column = max(len(key) for key, _ in keys) + 4
        inner = ink.narrower(column)
        for key, meaning in keys:
            first, rest = Segment(f"  {key}".ljust(column), Style(bold=True)), Segment(" " * column)
            strips += beside(inner.wrapped(Text(meaning, ink.palette.text)), first, rest)
        strips.append(Strip([]))
    return strips
