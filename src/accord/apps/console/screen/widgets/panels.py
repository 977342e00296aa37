"""The narrow parts around the conversation: tabs, plan, queue and status. Each is told what to show, and keeps nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace
from rich.style import Style
from rich.text import Span, Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.session import State
from accord.apps.console.screen.status import Fact
from accord.session.entities import Plan, PlanEntry

__all__ = ["Panel", "PlanPanel", "QueuePanel", "StatusLine", "TabsLine"]

MOST_PLAN_LINES, MOST_WAITING = 8, 5
LONGEST_TITLE, SHORTEST_TITLE = 24, 10


class Panel(Widget):
    """Draws a text, as high as it has lines; without one it is not there."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.shown = Text()
        self.add_class("empty")

    def put(self, text: Text) -> None:
        if text == self.shown and text.spans == self.shown.spans:
            return
        resized = text.plain.count("\n") != self.shown.plain.count("\n") or bool(text) != bool(self.shown)
        self.shown = text
        self.set_class(not text, "empty")
        self.refresh(layout=resized)

    def render(self) -> Text:
        return self.shown


class PlanPanel(Panel):
    """The plan, pinned: what is done, what is being done, what is to come."""

    def put_plan(self, plan: Plan | None, palette: Palette, *, is_old: bool = False) -> None:
        """`is_old`: the agent has not spoken of it since something else was asked; a line is enough then."""
        if plan is None or not plan.entries:
            self.put(Text())
            return
        done = sum(entry.status == "completed" for entry in plan.entries)
        head = Text.assemble((" Plan ", palette.heading), (f"{done} of {len(plan.entries)}", palette.muted))
        if done == len(plan.entries):
            self.put(head.append(" ✓", palette.good))
            return
        if plan.ended_without_result:
            head.append("  broken off", palette.warning)
        entries = _standing_still(plan.entries) if plan.ended_without_result else plan.entries
        lines = _plan_lines(entries, palette)
        if is_old:
            lines = []
            head.append_text(_plan_line(next(each for each in entries if each.status != "completed"), palette))
        self.put(Text("\n", no_wrap=True, overflow="ellipsis").join([head, *lines]))


def _plan_lines(entries: Sequence[PlanEntry], palette: Palette) -> list[Text]:
    lines = [_plan_line(entry, palette) for entry in entries]
    if len(lines) <= MOST_PLAN_LINES:
        return lines
    current = next((place for place, entry in enumerate(entries) if entry.status != "completed"), len(lines) - 1)
    start = max(0, min(current - 1, len(lines) - MOST_PLAN_LINES + 1))
    end = start + MOST_PLAN_LINES - 2
    shown = lines[start:end]
    if start:
        shown = [Text(f"   … {start} done above", palette.muted), *shown]
    if end < len(lines):
        shown.append(Text(f"   … {len(lines) - end} more", palette.muted))
    return shown


def _standing_still(entries: Sequence[PlanEntry]) -> list[PlanEntry]:
    """As they are when nobody works on them: what was begun is no further than what was not."""
    return [replace(entry, status="pending") if entry.status == "in_progress" else entry for entry in entries]


def _plan_line(entry: PlanEntry, palette: Palette) -> Text:
    text = one_line(entry.content)
    match entry.status:
        case "completed":
            return Text.assemble((" ✓ ", palette.good), (text, palette.muted))
        case "in_progress":
            return Text.assemble((" ▸ ", palette.accent), (text, Style(bold=True)))
        case _:
            return Text.assemble((" ○ ", palette.muted), (text, palette.text))


class QueuePanel(Panel, can_focus=True):
    """Prompts that wait; the chosen one can be edited, removed or sent at once."""

    class Chosen(Message):
        """Something is to be done with one of them."""

        def __init__(self, place: int, what: Literal["edit", "remove", "send"]) -> None:
            super().__init__()
            self.place = place
            self.what = what

    BINDINGS = [
        ("up", "move(-1)", "Up"),
        ("down", "move(1)", "Down"),
        ("enter,e", "choose('edit')", "Edit"),
        ("x,delete,backspace", "choose('remove')", "Remove"),
        ("s", "choose('send')", "Send now"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.place = 0
        self._queue: list[str] = []
        self._palette: Palette | None = None
        self._held = ""

    def put_queue(self, queue: Sequence[str], palette: Palette, *, held: str = "") -> None:
        """`held`: why it does not go on by itself."""
        self._queue, self._palette, self._held = list(queue), palette, held
        self.place = max(0, min(self.place, len(queue) - 1))
        if not queue:
            self.put(Text())
            return
        hint = "enter edit · x remove · s send now" if self.has_focus else "↑ edit the last · tab to all"
        held = f"{held} · " if held else ""
        lines = [
            Text.assemble((f" Next {len(queue)} ", palette.heading), (held, palette.warning), (hint, palette.muted))
        ]
        start = max(0, min(self.place - MOST_WAITING + 2, len(queue) - MOST_WAITING)) if self.has_focus else 0
        end = min(len(queue), start + MOST_WAITING)
        if start:
            lines.append(Text(f"   … {start} before", palette.muted))
        for place, text in enumerate(queue[start:end], start=start):
            chosen = self.has_focus and place == self.place
            mark = ("▸ ", palette.accent) if chosen else (f"{place + 1} ", palette.muted)
            line = Text.assemble(" ", mark, (one_line(text), palette.text))
            line.stylize(Style(meta={"place": place}))
            lines.append(line)
        if end < len(queue):
            lines.append(Text(f"   … {len(queue) - end} more", palette.muted))
        self.put(Text("\n", no_wrap=True, overflow="ellipsis").join(lines))

    def _again(self) -> None:
        if self._palette is not None:
            self.put_queue(self._queue, self._palette, held=self._held)

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._again()

    def on_click(self, event: events.Click) -> None:
        self.place = event.style.meta.get("place", self.place)
        self._again()

    def action_move(self, step: int) -> None:
        """Down from the last one is back to the prompt."""
        self.place += step
        if self.place >= len(self._queue):
            self.screen.focus_next("PromptEditor")
        self._again()

    def action_choose(self, what: Literal["edit", "remove", "send"]) -> None:
        self.post_message(self.Chosen(self.place, what))


class TabsLine(Panel):
    """The sessions that are open, with the state of each."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    MARKS = {"closed": "✗", "asks": "?", "stopping": "◐", "busy": "◐", "idle": ""}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs: list[tuple[str, State, bool]] = []
        self._current = 0
        self._palette: Palette | None = None

    def put_tabs(self, tabs: Sequence[tuple[str, State, bool]], current: int, palette: Palette) -> None:
        """Each with its title, its state, and whether something has happened there."""
        if (list(tabs), current, palette) != (self._tabs, self._current, self._palette):
            self._tabs, self._current, self._palette = list(tabs), current, palette
            self.set_class(len(tabs) < 2, "empty")
            self.refresh()

    def render(self) -> Text:
        """With shorter titles where there is little room; then only those around the current one."""
        palette, width = self._palette, self.size.width
        if palette is None:
            return Text()
        tabs: list[Text] = []
        for longest in range(LONGEST_TITLE, SHORTEST_TITLE - 1, -1):
            tabs = [self._tab(place, longest, palette) for place in range(len(self._tabs))]
            if sum(tab.cell_len for tab in tabs) <= width:
                return Text(no_wrap=True).join(tabs)
        first = last = self._current
        while True:
            wider = [(first - 1, last)] if first > 0 else []
            wider += [(first, last + 1)] if last + 1 < len(tabs) else []
            fitting = [each for each in wider if self._line(tabs, *each, palette).cell_len <= width]
            if not fitting:
                return self._line(tabs, first, last, palette)
            first, last = min(fitting, key=lambda each: abs(each[0] + each[1] - 2 * self._current))

    def _tab(self, place: int, longest: int, palette: Palette) -> Text:
        title, state, news = self._tabs[place]
        mark = "•" if news and state == "idle" else self.MARKS[state]  # nothing, for one that is at rest
        style = palette.panel + Style(bold=True) if place == self._current else palette.muted
        style += Style(meta={"place": place})
        attention = palette.warning if state == "asks" else palette.accent
        tab = Text(f" {place + 1}", style).append(mark, style + attention)
        return tab.append(f" {one_line(title, longest)} ", style).append(" ", Style.null())

    def _line(self, tabs: Sequence[Text], first: int, last: int, palette: Palette) -> Text:
        """Some of them, and how many there are before and after."""
        before, after = self._more(range(first), "←", palette), self._more(range(last + 1, len(tabs)), "→", palette)
        return Text(no_wrap=True).join([before, *tabs[first : last + 1], after])

    def _more(self, places: range, sign: str, palette: Palette) -> Text:
        if not places:
            return Text()
        asks = any(self._tabs[place][1] == "asks" for place in places)
        nearest = places[-1] if sign == "←" else places[0]
        count = f"{sign}{len(places)}" if sign == "←" else f"{len(places)}{sign}"
        style = Style(meta={"place": nearest})
        return Text.assemble((count, palette.muted + style), ("?" if asks else " ", palette.warning + style), " ")

    def on_click(self, event: events.Click) -> None:
        if "place" in event.style.meta:
            self.post_message(self.Chosen(event.style.meta["place"]))


class StatusLine(Panel):
    """What goes on at the left, what has become of it at the right; what does not fit is left out by its rank."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left: list[Fact] = []
        self._right: list[Fact] = []

    def put_status(self, left: Sequence[Fact], right: Sequence[Fact]) -> None:
        if _looks([*left, *right]) != _looks([*self._left, *self._right]):
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


def _looks(facts: Sequence[Fact]) -> list[tuple[str, str | Style, list[Span]]]:
    return [(fact.text.plain, fact.text.style, fact.text.spans) for fact in facts]


def _width(facts: Sequence[Fact]) -> int:
    return sum(fact.text.cell_len for fact in facts)
