"""The status line: what goes on, who with, in which mode, and what it costs."""

from __future__ import annotations

from typing import Literal

import msgspec
from rich.style import Style
from rich.text import Text

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.notices import Failure
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.pages.review_page import changed_paths
from accord.apps.console.screen.session import Talk
from accord.session.entities import Option, Usage

__all__ = ["Fact", "Standing", "choices_told", "left_of_status", "mode_of", "model_of", "right_of_status"]


_SLOW_SECONDS = 5
"""So long an agent may take to start before its time limit is told."""


class Fact(msgspec.Struct, frozen=True):
    """A part of the line. Where there is no room for all, the highest ranks go; rank 0 stays."""

    text: Text
    rank: int = 0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand with the agent."""

    name: str
    state: Literal["starting", "ready", "gone"]
    seconds: float
    """Since it was started, or since the turn began."""
    start_timeout: float | None = None
    """How many it has to answer at its start."""
    last_words: str = ""


def left_of_status(standing: Standing, talk: Talk | None, palette: Palette) -> list[Fact]:
    """What goes on, who with, and how."""
    facts = [
        Fact(Text(" ").append_text(_doing(standing, talk, palette))),
        Fact(Text(f"  {one_line(standing.name, 40)}", Style(bold=True)), 5),
    ]
    for told, rank in ((mode_of(talk), 1), (model_of(talk), 4)):
        if told:
            facts.append(Fact(Text.assemble((" · ", palette.faint), (one_line(told, 40), palette.muted)), rank))
    return facts


def _doing(standing: Standing, talk: Talk | None, palette: Palette) -> Text:
    if standing.state == "starting":
        words = f": {one_line(standing.last_words, 60)}" if standing.last_words else ""
        is_slow = standing.start_timeout is not None and standing.seconds >= _SLOW_SECONDS
        limit = f" of {_time(standing.start_timeout or 0)}" if is_slow else ""
        return Text(f"◐ starting… {_time(standing.seconds)}{limit}{words}", palette.warning)  # FN-102
    if standing.state == "gone":
        return Text("✗ gone, F5 starts it again", palette.bad)
    match "closed" if talk is None else talk.state:
        case "asks":
            return Text("? waits for your answer", palette.warning)
        case "stopping":
            return Text("◐ stopping… esc again kills the agent", palette.warning)
        case "busy":
            return Text.assemble((f"◐ works {_time(standing.seconds)}", palette.accent), (" esc stops", palette.muted))
        case "idle" if talk is not None and talk.is_unsettled:
            return Text("‖ held: not in the mode you chose", palette.warning)
        case "idle":
            return Text("● ready", palette.good)
        case _ if talk is not None and talk.session is None and not _has_failed(talk):
            return Text("◐ opening a session…", palette.warning)
        case _:
            return Text("○ no session", palette.muted)


def _has_failed(talk: Talk) -> bool:
    return any(isinstance(block, Failure) for block in talk.story.blocks)


def right_of_status(talk: Talk | None, palette: Palette) -> list[Fact]:
    """What has become of it, and what it costs."""
    facts: list[Fact] = []
    changed = 0 if talk is None else len(changed_paths(talk.story))
    if changed:
        told = f"{changed} file{'' if changed == 1 else 's'} changed"
        facts.append(Fact(Text.assemble((told, palette.accent), (" F4 shows  ", palette.muted)), 1))
    beside = () if talk is None or talk.session is None else talk.session.transcript.state.background or ()
    if beside:
        facts.append(Fact(Text(f"{len(beside)} in the background  ", palette.muted), 4))
    usage = None if talk is None or talk.session is None else talk.session.transcript.usage
    if usage is not None:
        facts.append(Fact(_context(usage, palette).append("  "), 3))
        if usage.cost is not None:
            facts.append(Fact(Text(f"{_money(usage.cost.amount, usage.cost.currency)}  ", palette.muted), 6))
    return [*facts, Fact(Text("F1 keys ", palette.muted), 2)]


def _context(usage: Usage, palette: Palette) -> Text:
    if usage.size <= 0:
        return Text(f"{_count(usage.used)} tokens", palette.muted)
    share = usage.used / usage.size
    style = palette.bad if share > 0.9 else palette.warning if share > 0.7 else palette.muted
    return Text(f"context {share:.0%} of {_count(usage.size)}", style)


def mode_of(talk: Talk | None) -> str:
    """The name of the mode in force."""
    return _mode(talk)[0]


def model_of(talk: Talk | None) -> str:
    """The name of the model in force."""
    return _chosen(talk, "model")[0]


def choices_told(talk: Talk) -> list[tuple[str, str]]:
    """The mode and the model in force, each with what the agent says of it."""
    return [(name, meaning) for name, meaning in (_mode(talk), _chosen(talk, "model")) if name]


def _mode(talk: Talk | None) -> tuple[str, str]:
    modes = None if talk is None or talk.session is None else talk.session.modes
    if modes is None:
        return _chosen(talk, "mode")
    mode = next((each for each in modes.available if each.id == modes.current), None)
    return (modes.current, "") if mode is None else (mode.name, mode.description or "")


def _chosen(talk: Talk | None, what: str) -> tuple[str, str]:
    options: list[Option] = [] if talk is None or talk.session is None else talk.session.options
    option = next((each for each in options if what in (each.category, each.id)), None)
    if option is None or not isinstance(option.value, str):
        return "", ""
    choice = next((each for each in option.choices if each.value == option.value), None)
    return (option.value, "") if choice is None else (choice.name, choice.description or "")


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
