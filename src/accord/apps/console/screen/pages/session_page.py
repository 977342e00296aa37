"""The sessions that an agent has kept: take one up, fork it, delete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from accord.apps.console.file_changes import short_path
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.session_choice import KnownSession, when_of

__all__ = ["SessionsPage"]

_MARKS = {"agent": "", "here": "kept here"}


def _entries(sessions: Sequence[KnownSession], cwd: str) -> list[Entry]:
    """One line for each: when, what about, where, if that is not here, and whether the agent knows nothing of it."""
    entries: list[Entry] = []
    for each in sessions:
        title = "  ".join(filter(None, [when_of(each.updated_at), each.title or each.session_id]))
        place = "" if each.cwd == cwd else short_path(each.cwd, "")
        entries.append(Entry(each.session_id, title, "  ".join(filter(None, [place, _MARKS[each.source]]))))
    return entries


class SessionsPage(ChoicePage):
    """Ends with what to do and the session's id: `open`, `fork` or `delete`, a blank, the id."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "act('fork')", "Fork", priority=True),
        Binding("ctrl+x", "act('delete')", "Delete", priority=True),
    ]

    def __init__(self, sessions: Sequence[KnownSession], cwd: str, *, can_fork: bool, can_delete: bool) -> None:
        super().__init__("Sessions", _entries(sessions, cwd))
        deletable = [each.session_id for each in sessions if can_delete or each.source == "here"]
        self._can = {"fork": [each.session_id for each in sessions if can_fork], "delete": deletable}
        extra = [f" · {key} {what}" for key, what in (("ctrl+f", "fork"), ("ctrl+x", "delete")) if self._can[what]]
        self.hint = f"type to search · enter take up{''.join(extra)} · esc close"

    def end_with(self, chosen: Entry) -> None:
        self.dismiss(f"open {chosen.id}")

    def action_act(self, what: str) -> None:
        chosen = self.chosen
        if chosen is not None and chosen.id in self._can[what]:
            self.dismiss(f"{what} {chosen.id}")
