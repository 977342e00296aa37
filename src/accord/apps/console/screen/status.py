"""The status line: what goes on, who with, in which mode, and what it costs."""

from __future__ import annotations

from typing import Literal

import msgspec
from rich.style import Style
from rich.text import Text

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.drawing.ink import Palette
from accord.apps.console.screen.talk import Talk
from accord.session.entities import Option, Usage

__all__ = ["Standing", "left_of_status", "mode_of", "model_of", "right_of_status"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand with the agent."""

    name: str
    state: Literal["starting", "ready", "gone"]
    seconds: float
    """Since it was started, or since the turn began."""
    last_words: str = ""


def left_of_status(standing: Standing, talk: Talk | None, palette: Palette) -> Text:
    """What goes on, and who with."""
    text = Text(" ")
    text.append_text(_doing(standing, talk, palette))
    text.append(f"  {one_line(standing.name, 40)}", Style(bold=True))
    for fact in (mode_of(talk), model_of(talk)):
        if fact:
            text.append(" · ", palette.faint).append(one_line(fact, 40), palette.muted)
    return text


def _doing(standing: Standing, talk: Talk | None, palette: Palette) -> Text:
    if standing.state == "starting":
        words = f": {one_line(standing.last_words, 60)}" if standing.last_words else ""
        return Text(f"◐ starting… {_time(standing.seconds)}{words}", palette.warning)  # FN-102
    if standing.state == "gone":
        return Text("✗ gone, F5 starts it again", palette.bad)
    match "closed" if talk is None else talk.state:
        case "asks":
            return Text("? waits for your answer", palette.warning)
        case "stopping":
            return Text("◐ stopping… esc again kills the agent", palette.warning)
        case "busy":
            return Text.assemble((f"◐ works {_time(standing.seconds)}", palette.accent), (" esc stops", palette.muted))
        case "idle":
            return Text("● ready", palette.good)
        case _:
            return Text("○ no session", palette.muted)


def right_of_status(talk: Talk | None, palette: Palette) -> Text:
    """What it costs."""
    usage = None if talk is None or talk.session is None else talk.session.transcript.usage
    text = Text()
    if usage is not None:
        text.append_text(_context(usage, palette))
        if usage.cost is not None:
            text.append(f"  {_money(usage.cost.amount, usage.cost.currency)}", palette.muted)
    return text.append("  F1 keys ", palette.faint)


def _context(usage: Usage, palette: Palette) -> Text:
    if usage.size <= 0:
        return Text(f"{_count(usage.used)} tokens", palette.muted)
    share = usage.used / usage.size
    style = palette.bad if share > 0.9 else palette.warning if share > 0.7 else palette.muted
    return Text(f"context {share:.0%} of {_count(usage.size)}", style)


def mode_of(talk: Talk | None) -> str:
    """The name of the mode in force."""
    session = None if talk is None else talk.session
    if session is None:
        return ""
    if session.modes is not None:
        names = {mode.id: mode.name for mode in session.modes.available}
        return names.get(session.modes.current, session.modes.current)
    return _chosen(session.options, "mode")


def model_of(talk: Talk | None) -> str:
    """The name of the model in force."""
    return "" if talk is None or talk.session is None else _chosen(talk.session.options, "model")


def _chosen(options: list[Option], what: str) -> str:
    option = next((each for each in options if what in (each.category, each.id)), None)
    if option is None or not isinstance(option.value, str):
        return ""
    return next((choice.name for choice in option.choices if choice.value == option.value), option.value)


def _count(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def _money(amount: float, currency: str) -> str:
    sign = {"USD": "$", "EUR": "€"}.get(currency)
    digits = 2 if amount >= 1 else 3
    return f"{sign}{amount:.{digits}f}" if sign else f"{amount:.{digits}f} {one_line(currency, 8)}"


def _time(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02} min"
