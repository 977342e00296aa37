"""Changes that v1 and the draft tell alike: terminals inside tool calls, modes beside options, and no states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from accord.dialects.alike import AlikeUpdates
from accord.dialects.dialect import Dialect, UpdatesToWire
from accord.dialects.options import current_mode
from accord.dialects.shown import ShowingDialect
from accord.dialects.shown_items import ShownItems
from accord.session.entities import Option, Plan, PlanEntry, Terminal
from accord.session.updates import (
    CompactionChanged,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
)

__all__ = ["ShowingUpdates", "entries_to_tell", "plan_is_told"]


class ShowingUpdates:
    """Bound to the updates of one version, and to how it writes items and options."""

    def __init__(
        self,
        alike: AlikeUpdates,
        items: ShownItems,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        *,
        tool_call: type[Any],
        options: type[Any],
        mode: type[Any],
    ) -> None:
        self._alike = alike
        self._items = items
        self._options_to_wire = options_to_wire
        self._tool_call = tool_call
        self._options = options
        self._mode = mode
        self.to_wire: UpdatesToWire = {
            **alike.to_wire,
            TerminalChanged: self.terminal_changed,
            TerminalOutput: self.terminal_output,
            OptionsChanged: self.options_changed,
            ModeChanged: self.mode_changed,
            NoticeShown: self.notice_shown,
            CompactionChanged: self.compaction_changed,
            StateChanged: _state_changed,
        }

    def terminal_changed(self, dialect: ShowingDialect, session_id: str, change: TerminalChanged) -> list[Any]:
        return self._terminal_told(dialect, session_id, change.terminal, whole=True)

    def terminal_output(self, dialect: ShowingDialect, session_id: str, change: TerminalOutput) -> list[Any]:
        return self._terminal_told(dialect, session_id, change.terminal, whole=False)

    def _terminal_told(self, dialect: ShowingDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Any]:
        shown = dialect.shown(session_id)
        if terminal.id not in shown.terminals:
            dialect.lose("display-terminal", terminal.id)
        shown.keep(terminal)
        if not shown.output_told(terminal, whole):
            return []
        return [
            self._tool_call(tool_call_id=call.id, content=self._items.to_wire(dialect, session_id, call.content))
            for call in shown.calls_with(terminal.id)
        ]

    def options_changed(self, dialect: ShowingDialect, session_id: str, change: OptionsChanged) -> list[Any]:
        """All options, and the mode if they changed it."""
        options = self._options_to_wire(dialect, change.options)
        updates = [self._options(config_options=options, meta=change.patch.meta)]
        shown = dialect.shown(session_id)
        shown.options = change.options
        mode = current_mode(change.options)
        if shown.mode is not None and mode is not None and mode != shown.mode:
            shown.mode = mode
            updates.append(self._mode(current_mode_id=mode))
        return updates

    def mode_changed(self, dialect: ShowingDialect, session_id: str, change: ModeChanged) -> list[Any]:
        """The mode, and all options if one of them has to follow it."""
        updates: list[Any] = []
        shown = dialect.shown(session_id)
        if change.mode_id != shown.mode:
            shown.mode = change.mode_id
            updates.append(self._mode(current_mode_id=change.mode_id, meta=change.patch.meta))
        if shown.mode_option_lags():
            updates.append(self._options(config_options=self._options_to_wire(dialect, shown.options)))
        return updates

    def notice_shown(self, dialect: Dialect, session_id: str, change: NoticeShown) -> list[Any]:
        if not dialect.client.notices:
            dialect.lose("notice", session_id)
            return []
        return self._alike.notice_shown(dialect, session_id, change)

    def compaction_changed(self, dialect: Dialect, session_id: str, change: CompactionChanged) -> list[Any]:
        if not dialect.client.compaction:
            dialect.lose("compaction", change.compaction.id)
            return []
        return self._alike.compaction_changed(dialect, session_id, change)


def _state_changed(dialect: Dialect, session_id: str, change: StateChanged) -> list[Any]:
    if change.state.state not in ("idle", "running"):
        dialect.lose("state", session_id)
    if change.state.background:
        dialect.lose("background", session_id)
    return []


def plan_is_told(dialect: ShowingDialect, session_id: str, plan: Plan) -> bool:
    """Remember a plan, and say whether to tell it: one that cannot be told still takes the place of one that was."""
    plans = dialect.shown(session_id).plans
    if plan.raw is None:
        plans[plan.id] = plan
        return True
    dialect.lose("plan-type", plan.id)
    return plans.pop(plan.id, None) is not None


def entries_to_tell(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    """The entries, each with a status that v1 and the draft have; but for those that were cancelled."""
    for entry in plan.entries:
        if entry.status in ("pending", "in_progress", "completed"):
            yield entry
        elif entry.status == "cancelled":
            dialect.lose("plan-entry", plan.id)
        else:
            dialect.lose("plan-status", plan.id)
            yield replace(entry, status="in_progress")
