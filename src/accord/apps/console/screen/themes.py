"""Colour themes: dark, light, and Textual's own; the default depends on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

from textual import on
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import OptionList

from accord.apps.console.errors import InvalidUsage
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry

DARK = Theme(
    name="accord-dark",
    primary="#7aa2f7",
    secondary="#9aa5ce",
    accent="#e0af68",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    foreground="#d5d9e0",
    background="#14161b",
    surface="#1a1d23",
    panel="#22262e",
    dark=True,
)
LIGHT = Theme(
    name="accord-light",
    primary="#2f5fb3",
    secondary="#4c5a73",
    accent="#9a5b00",
    success="#2f7d32",
    warning="#8f5e00",
    error="#b3263a",
    foreground="#23272e",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e6e6e2",
    dark=False,
)
THEMES = (DARK, LIGHT)


class ThemePage(ChoicePage):
    """A page to choose a theme; accord's own come first. `preview` is called with the theme that is selected."""

    hint = "↑↓ try · enter choose · esc back"

    def __init__(self, names: Iterable[str], current: str, preview: Callable[[str], None]) -> None:
        ordered = sorted(names, key=lambda name: (not name.startswith("accord"), name))
        super().__init__("Theme", [Entry(name, name) for name in ordered], current=current)
        self.add_class("preview")
        self._preview = preview

    @on(OptionList.OptionHighlighted)
    def preview(self) -> None:
        if self.selected is not None:
            self._preview(self.selected.id)


def check_theme(name: str) -> None:
    """Raise InvalidUsage with the available themes if there is none of this name."""
    names = [*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES)]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidUsage(f"unknown theme {name!r}{hint}", f"Available themes: {', '.join(names)}")


def default_theme(environment: Mapping[str, str]) -> str:
    """The theme that fits the terminal: few or no colours, a light background, or else dark."""
    terminal = environment.get("TERM", "")
    if "NO_COLOR" in environment:
        return "ansi-dark"  # Textual then removes the colours
    has_many_colors = "COLORTERM" in environment or any(
        word in terminal for word in ("256", "direct", "kitty", "ghostty")
    )
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    is_light = background in ("7", "15")
    if not has_many_colors:
        return "ansi-light" if is_light else "ansi-dark"
    return LIGHT.name if is_light else DARK.name
