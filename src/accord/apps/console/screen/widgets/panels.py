"""The narrow parts around the conversation: tabs, plan, queue and status. Each is told what to show, and keeps nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.style import Style
from rich.text import Text
from textual.message import Message
from textual.widget import Widget

from accord.apps.console.sanitising import one_line
from accord.apps.console.screen.drawing.ink import Palette
from accord.apps.console.screen.talk import State
from accord.session.entities import Plan, PlanEntry

__all__ = ["Panel", "PlanPanel", "QueuePanel", "StatusLine", "TabsLine"]

MOST_PLAN_LINES = 8


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

    def put_plan(self, plan: Plan | None, palette: Palette) -> None:
        if plan is None or not plan.entries:
            self.put(Text())
            return
        done = sum(entry.status == "completed" for entry in plan.entries)
        head = Text.assemble((" Plan ", palette.heading), (f"{done} of {len(plan.entries)}", palette.muted))
        if done == len(plan.entries):
            self.put(head.append(" ✓", palette.good))
            return
        self.put(Text("\n", no_wrap=True, overflow="ellipsis").join([head, *_plan_lines(plan.entries, palette)]))


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


def _plan_line(entry: PlanEntry, palette: Palette) -> Text:
    text = one_line(entry.content)
    match entry.status:
        case "completed":
            return Text.assemble((" ✓ ", palette.good), (text, palette.muted + Style(strike=True)))
        case "in_progress":
            return Text.assemble((" ▸ ", palette.accent), (text, Style(bold=True)))
        case _:
            return Text.assemble((" ○ ", palette.faint), (text, palette.text))


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

    def put_queue(self, queue: Sequence[str], palette: Palette) -> None:
        self._queue, self._palette = list(queue), palette
        self.place = max(0, min(self.place, len(queue) - 1))
        if not queue:
            self.put(Text())
            return
        hint = "enter edit · x remove · s send now" if self.has_focus else "↑ to edit"
        lines = [Text.assemble((f" Next {len(queue)} ", palette.heading), (hint, palette.muted))]
        for place, text in enumerate(queue[:5]):
            chosen = self.has_focus and place == self.place
            mark = ("▸ ", palette.accent) if chosen else (f"{place + 1} ", palette.faint)
            lines.append(Text.assemble(" ", mark, (one_line(text), palette.text)))
        if len(queue) > 5:
            lines.append(Text(f"   … {len(queue) - 5} more", palette.muted))
        self.put(Text("\n", no_wrap=True, overflow="ellipsis").join(lines))

    def _again(self) -> None:
        if self._palette is not None:
            self.put_queue(self._queue, self._palette)

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._again()

    def action_move(self, step: int) -> None:
        self.place += step
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

    def put_tabs(self, tabs: Sequence[tuple[str, State, bool]], current: int, palette: Palette) -> None:
        """Each with its title, its state, and whether something has happened there."""
        if len(tabs) < 2:
            self.put(Text())
            return
        line = Text(no_wrap=True, overflow="ellipsis")
        for place, (title, state, news) in enumerate(tabs):
            mark = "•" if news and state == "idle" else self.MARKS[state]  # nothing, for one that is at rest
            style = palette.panel + Style(bold=True) if place == current else palette.muted
            attention = palette.warning if state == "asks" else palette.accent
            line.append(f" {place + 1}", style).append(mark, style + attention).append(
                f" {one_line(title, 24)} ", style
            )
            line.append(" ")
        self.put(line)


class StatusLine(Panel):
    """What goes on at the left, and what it costs at the right."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left, self._right = Text(), Text()

    def put_status(self, left: Text, right: Text) -> None:
        if (left, right) != (self._left, self._right) or left.spans != self._left.spans:
            self._left, self._right = left, right
            self.remove_class("empty")
            self.refresh()

    def render(self) -> Text:
        room = self.size.width - self._right.cell_len - 1
        left = self._left.copy()
        left.truncate(max(8, room), overflow="ellipsis", pad=True)
        return Text(no_wrap=True, overflow="crop").append_text(left).append(" ").append_text(self._right)
