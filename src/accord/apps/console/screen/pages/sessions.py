"""The sessions that an agent has kept: take one up, fork it, delete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from accord.apps.console.continuing import when_of
from accord.apps.console.file_changes import short_path
from accord.apps.console.screen.pages.choosing import ChoicePage, Entry
from accord.session.requests import SessionSummary

__all__ = ["SessionsPage", "entries_of"]


def entries_of(summaries: Sequence[SessionSummary], cwd: str) -> list[Entry]:
    """One line for each: when, what about, and where, if that is not here."""
    return [
        Entry(
            each.session_id,
            "  ".join(filter(None, [when_of(each.updated_at), each.title or each.session_id])),
            "" if each.cwd == cwd else short_path(each.cwd, ""),
        )
        for each in summaries
    ]


class SessionsPage(ChoicePage):
    """Ends with what to do and the session's id: `open`, `fork` or `delete`, a blank, the id."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "act('fork')", "Fork", priority=True),
        Binding("ctrl+x", "act('delete')", "Delete", priority=True),
    ]

    def __init__(self, entries: Sequence[Entry], *, can_fork: bool, can_delete: bool) -> None:
        super().__init__("Sessions", entries)
        self._can = {"fork": can_fork, "delete": can_delete}
        extra = [" · ctrl+f fork" if can_fork else "", " · ctrl+x delete" if can_delete else ""]
        self.hint = f"type to search · enter take up{''.join(extra)} · esc close"

    def end_with(self, chosen: Entry) -> None:
        self.dismiss(f"open {chosen.id}")

    def action_act(self, what: str) -> None:
        chosen = self.chosen
        if chosen is not None and self._can[what]:
            self.dismiss(f"{what} {chosen.id}")
