"""The looks: dark, light, and one that leaves the sixteen colours to the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from textual.theme import BUILTIN_THEMES, Theme

from accord.apps.console.errors import UsageWrong

__all__ = ["DARK", "LIGHT", "THEMES", "check_theme", "usual_theme"]

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


def check_theme(name: str) -> None:
    """UsageWrong names those that there are."""
    names = [*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES)]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UsageWrong(f"there is no theme {name!r}{hint}", f"There are: {', '.join(names)}")


def usual_theme(environment: Mapping[str, str]) -> str:
    """What fits the terminal, as far as it tells: no or few colours, a light ground, or else dark."""
    terminal = environment.get("TERM", "")
    if "NO_COLOR" in environment:
        return "ansi-dark"  # which Textual then leaves without any
    many = "COLORTERM" in environment or any(word in terminal for word in ("256", "direct", "kitty", "ghostty"))
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    is_light = ground in ("7", "15")
    if not many:
        return "ansi-light" if is_light else "ansi-dark"
    return LIGHT.name if is_light else DARK.name
