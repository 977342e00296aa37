"""The plan panel: the entries that are done, in progress and to come, above the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.drawing.palette import Palette
from accord.apps.console.screen.widgets.lines_view import Panel
from accord.session.entities import Plan, PlanEntry

MOST_LINES = 8


class PlanPanel(Panel):
    """Shows the whole plan, one line of an old one, and nothing if there is none."""

    def set_plan(self, plan: Plan | None, palette: Palette, *, is_old: bool = False, is_idle: bool = False) -> None:
        """`is_old`: the agent has not updated the plan since the last prompt; it takes one line then.

        `is_idle`: the agent does not work; no entry is in progress then.
        """
        if plan is None or not plan.entries:
            self.set_text(Text())
            return
        done = sum(entry.status == "completed" for entry in plan.entries)
        heading = Text.assemble((" Plan ", palette.heading), (f"{done} of {len(plan.entries)}", palette.muted))
        if done == len(plan.entries):
            self.set_text(heading.append(" ✓", palette.good))
            return
        entries: Sequence[PlanEntry] = plan.entries
        if plan.ended_without_result or (is_idle and any(entry.status == "in_progress" for entry in entries)):
            heading.append("  interrupted" if plan.ended_without_result else "  paused", palette.warning)
            entries = [_not_started(entry) for entry in entries]
        lines = _lines(entries, palette)
        if is_old:
            lines = []
            heading.append_text(_line(next(each for each in entries if each.status != "completed"), palette))
        self.set_text(Text("\n", no_wrap=True, overflow="ellipsis").join([heading, *lines]))


def _not_started(entry: PlanEntry) -> PlanEntry:
    """An entry of a plan that nobody works on any more: none of them is in progress."""
    return replace(entry, status="pending") if entry.status == "in_progress" else entry


def _lines(entries: Sequence[PlanEntry], palette: Palette) -> list[Text]:
    lines = [_line(entry, palette) for entry in entries]
    if len(lines) <= MOST_LINES:
        return lines
    current = next((index for index, entry in enumerate(entries) if entry.status != "completed"), len(lines) - 1)
    start = max(0, min(current - 1, len(lines) - MOST_LINES + 1))
    end = start + MOST_LINES - 2
    visible = lines[start:end]
    if start:
        visible = [Text(f"   … {start} done above", palette.muted), *visible]
    if end < len(lines):
        visible.append(Text(f"   … {len(lines) - end} more", palette.muted))
    return visible


def _line(entry: PlanEntry, palette: Palette) -> Text:
    text = one_line(entry.content)
    match entry.status:
        case "completed":
            return Text.assemble((" ✓ ", palette.good), (text, palette.muted))
        case "in_progress":
            return Text.assemble((" ▸ ", palette.accent), (text, Style(bold=True)))
        case _:
            return Text.assemble((" ○ ", palette.muted), (text, palette.text))
