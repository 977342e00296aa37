"""Colour themes: dark, light, and Textual's own; the default depends on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from textual.theme import BUILTIN_THEMES, Theme

from accord.apps.console.errors import InvalidUsage

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


def theme_names() -> list[str]:
    """Accord's own first, then those of Textual."""
    return [*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES)]


def check_theme(name: str) -> None:
    """Raise InvalidUsage with the available themes if there is none of this name."""
    names = theme_names()
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
