"""The keys of the screen's actions: their defaults, those that the user's settings give them, and the page of all keys (F1).

Law: a key that the user gives to an action is taken from the action that has it by default. Esc and Ctrl+C cannot be given
away: they stop the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Static

from accord.apps.console.sanitizer import exact_line
from accord.apps.console.screen.drawing.palette import Canvas, Palette
from accord.apps.console.screen.drawing.parts import Part
from accord.apps.console.screen.main_screen import KEYS
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.prompt_editor import PromptEditor

_WIDEST_KEY, _GAP = 18, 4
"""The width of the column of keys, with a margin of two cells on each side; longer ones take several lines."""
_NAMES = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "left": "←", "right": "→", "enter": "Enter"}

SEND, NEWLINE = "send", "newline"
_DEFAULTS = {binding.id or "": binding.key.split(",") for binding in KEYS} | {
    SEND: ["enter"],
    NEWLINE: ["alt+enter", "shift+enter", "ctrl+j"],
}
ACTIONS = tuple(name for name in _DEFAULTS if name not in ("stop", "interrupt"))
"""The actions that can have other keys, by the names that the settings use."""
_UNBOUND = "unbound"
"""The name of a key that no keyboard has."""

GROUPS: dict[str, list[tuple[str, str]]] = {
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


class KeyBindings:
    """`chosen` are the keys that the settings give to some of the actions; an empty list for none."""

    def __init__(self, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        chosen = {name: [_normal(key) for key in keys] for name, keys in (chosen or {}).items()}
        taken = {key for keys in chosen.values() for key in keys}
        self._keys = {
            name: chosen.get(name, [key for key in keys if key not in taken]) for name, keys in _DEFAULTS.items()
        }

    def apply(self, app: App[int], prompt: PromptEditor) -> None:
        """Give the actions their keys."""
        changed = {name: keys for name, keys in self._keys.items() if keys != _DEFAULTS[name]}
        prompt.send_keys = self._keys[SEND]
        app.set_keymap({name: ",".join(keys) or _UNBOUND for name, keys in changed.items() if name != SEND})

    def label(self, name: str) -> str:
        """The keys of an action, for people; empty if it has none."""
        return key_label(",".join(self._keys[name])) if self._keys[name] else ""

    def groups(self) -> dict[str, list[tuple[str, str]]]:
        """All keys and their meanings, by the place where they work."""
        everywhere = [(self.label(binding.id or ""), binding.description) for binding in KEYS]
        newline = [self.label(NEWLINE), *([f"\\ {self.label(SEND)}"] if self._keys[SEND] else [])]
        prompt = [(self.label(SEND), "send"), (", ".join(filter(None, newline)), "new line"), *GROUPS["In the prompt"]]
        named = GROUPS | {"Anywhere": everywhere, "In the prompt": prompt}
        return {name: [(key or "-", meaning) for key, meaning in keys] for name, keys in named.items()}


def _normal(key: str) -> str:
    """A key as Textual names it: in small letters, with its modifiers in alphabetical order."""
    *modifiers, name = key.lower().replace(" ", "").split("+")
    return "+".join([*sorted(modifiers), name])


def key_label(keys: str) -> str:
    """The names of keys as printed on a keyboard."""
    return ", ".join(
        "+".join(_NAMES.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))
        for key in keys.split(",")
    )


class KeysPage(ModalScreen[None]):
    """`commands` are the slash commands and their meanings. Esc, F1 or ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f1,q,question_mark", "dismiss", "Close")]

    def __init__(self, palette: Palette, keys: KeyBindings, commands: Mapping[str, str]) -> None:
        super().__init__()
        self._palette = palette
        self._groups = keys.groups() | {"Commands": [(f"/{name}", meaning) for name, meaning in commands.items()]}

    def compose(self) -> ComposeResult:
        with Vertical(classes="page wide"):
            yield Static(Text(" Keys and commands", "bold"), classes="title", markup=False)
            yield LinesView(lambda _: [Part(self._draw)], self._palette, can_focus=True)
            yield Static(Text("↑↓ PgUp PgDn scroll · esc close"), classes="hint", markup=False)

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
