"""The status line: what happens, in which agent, mode and model, the changed files, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from rich.style import Style
from rich.text import Span, Text

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.notices import ErrorBlock
from accord.apps.console.screen.blocks.welcome import no_model_hint
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.pages.review_page import changed_paths
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.widgets.lines_view import Panel
from accord.session.entities import Option, Usage

_SLOW_SECONDS = 5
"""After this time, a starting agent's time limit is shown."""


class StatusFact(msgspec.Struct, frozen=True):
    """A part of the line. If there is little room, the highest ranks are left out; rank 0 stays."""

    text: Text
    rank: int = 0


class AgentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the agent."""

    name: str
    state: Literal["starting", "ready", "gone"]
    seconds: float
    """Since the start of the agent or of the turn."""
    start_timeout: float | None = None
    last_stderr: str = ""
    """The last line of its stderr, while it starts."""


class StatusLine(Panel):
    """Activity at the left, results and costs at the right; facts that do not fit are left out by rank."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left: list[StatusFact] = []
        self._right: list[StatusFact] = []

    def set_facts(self, left: Sequence[StatusFact], right: Sequence[StatusFact]) -> None:
        if _appearance([*left, *right]) != _appearance([*self._left, *self._right]):
            self._left, self._right = list(left), list(right)
            self.remove_class("empty")
            self.refresh()

    def render(self) -> Text:
        left, right, width = self._left, self._right, self.size.width
        while _width([*left, *right]) >= width and (rank := max(fact.rank for fact in [*left, *right])):
            left, right = ([fact for fact in side if fact.rank != rank] for side in (left, right))
        line = Text().join(fact.text for fact in left)
        line.truncate(max(8, width - _width(right)), overflow="ellipsis", pad=True)
        return line.append_text(Text().join(fact.text for fact in right))


def _appearance(facts: Sequence[StatusFact]) -> list[tuple[str, str | Style, list[Span]]]:
    return [(fact.text.plain, fact.text.style, fact.text.spans) for fact in facts]


def _width(facts: Sequence[StatusFact]) -> int:
    return sum(fact.text.cell_len for fact in facts)


def left_facts(agent: AgentStatus, tab: SessionTab, palette: Palette, keys: KeyBindings) -> list[StatusFact]:
    """The activity, the agent, the mode and the model."""
    facts = [
        StatusFact(Text(" ").append_text(_activity(agent, tab, palette, keys))),
        StatusFact(Text(f"  {one_line(agent.name, 40)}", Style(bold=True)), 5),
    ]
    for name, rank in ((mode_of(tab), 1), (_choice(tab, "model")[0], 4)):
        if name:
            text = Text.assemble((" · ", palette.faint), (one_line(name, 40), palette.muted))
            facts.append(StatusFact(text, rank))
    return facts


def _activity(agent: AgentStatus, tab: SessionTab, palette: Palette, keys: KeyBindings) -> Text:
    if agent.state == "starting":
        output = f": {one_line(agent.last_stderr, 60)}" if agent.last_stderr else ""
        is_slow = agent.start_timeout is not None and agent.seconds >= _SLOW_SECONDS
        limit = f" of {_time(agent.start_timeout or 0)}" if is_slow else ""
        return Text(f"◐ starting… {_time(agent.seconds)}{limit}{output}", palette.warning)  # FN-102
    if agent.state == "gone":
        return Text(f"✗ agent ended, {keys.hint('restart')} restarts it", palette.bad)
    match tab.state:
        case "asks":
            return Text("? waiting for your answer", palette.warning)
        case "stopping":
            return Text("◐ stopping… Esc again kills the agent", palette.warning)
        case "busy":
            return Text.assemble((f"◐ working {_time(agent.seconds)}", palette.accent), (" Esc stops", palette.muted))
        case "idle" if tab.is_unsettled:
            return Text("‖ held: not in the mode you chose", palette.warning)
        case "idle":
            return Text("● ready", palette.good)
        case _ if tab.session is None and not any(isinstance(block, ErrorBlock) for block in tab.conversation.blocks):
            return Text("◐ opening a session…", palette.warning)
        case _:
            return Text("○ no session", palette.muted)


def right_facts(tab: SessionTab, palette: Palette, keys: KeyBindings) -> list[StatusFact]:
    """The changed files, background work, the context and the cost."""
    facts: list[StatusFact] = []
    changed = len(changed_paths(tab.conversation))
    if changed:
        text = f"{changed} file{'' if changed == 1 else 's'} changed"
        facts.append(
            StatusFact(Text.assemble((text, palette.accent), (f" {keys.hint('review')} shows  ", palette.muted)), 1)
        )
    transcript = None if tab.session is None else tab.session.transcript
    if transcript is not None and transcript.state.background:
        facts.append(StatusFact(Text(f"{len(transcript.state.background)} in the background  ", palette.muted), 4))
    if transcript is not None and transcript.usage is not None:
        usage = transcript.usage
        facts.append(StatusFact(_context(usage, palette).append("  "), 3))
        if usage.cost is not None:
            facts.append(StatusFact(Text(f"{_money(usage.cost.amount, usage.cost.currency)}  ", palette.muted), 6))
    return [*facts, StatusFact(Text(f"{keys.hint('keys')} keys ", palette.muted), 2)]


def _context(usage: Usage, palette: Palette) -> Text:
    if usage.size <= 0:
        return Text(f"{_count(usage.used)} tokens", palette.muted)
    share = usage.used / usage.size
    style = palette.bad if share > 0.9 else palette.warning if share > 0.7 else palette.muted
    return Text(f"context {share:.0%} of {_count(usage.size)}", style)


def mode_of(tab: SessionTab) -> str:
    """The name of the current mode."""
    return _mode(tab)[0]


def current_choices(tab: SessionTab) -> list[tuple[str, str]]:
    """The current mode and model, each with the agent's description."""
    return [(name, meaning) for name, meaning in (_mode(tab), _choice(tab, "model")) if name]


def model_hint(tab: SessionTab, keys: KeyBindings) -> str:
    """How to use a real model, if the built-in agent uses its offline model."""
    option = _option(tab, "model")
    if option is None or option.value != "offline":
        return ""
    return f"A real model: {keys.hint('options')} chooses one" if len(option.choices) > 1 else no_model_hint()


def _mode(tab: SessionTab) -> tuple[str, str]:
    modes = None if tab.session is None else tab.session.modes
    if modes is None:
        return _choice(tab, "mode")
    mode = next((each for each in modes.available if each.id == modes.current), None)
    return (modes.current, "") if mode is None else (mode.name, mode.description or "")


def _option(tab: SessionTab, category: str) -> Option | None:
    options: list[Option] = [] if tab.session is None else tab.session.options
    return next((each for each in options if category in (each.category, each.id)), None)


def _choice(tab: SessionTab, category: str) -> tuple[str, str]:
    option = _option(tab, category)
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
