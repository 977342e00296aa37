"""Saved sessions (F3): a page of earlier sessions, to open one in a tab, fork it or delete it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from accord.apps.console.file_changes import short_path
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.options import is_agent_ready
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry, QuestionPage
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.tabs import Tabs
from accord.apps.console.session_choice import KnownSession, local_time, used_first

_MARKS = {"agent": "", "here": "kept here"}


def _entries(sessions: Sequence[KnownSession], cwd: str) -> list[Entry]:
    """One line for each: time, title, the directory if it is another one, and whether only accord has it."""
    entries: list[Entry] = []
    for each in sessions:
        title = "  ".join(filter(None, [local_time(each.updated_at), each.title or each.session_id]))
        directory = "" if each.cwd == cwd else short_path(each.cwd, "")
        entries.append(Entry(each.session_id, title, "  ".join(filter(None, [directory, _MARKS[each.source]]))))
    return entries


class SessionsPage(ChoicePage):
    """Returns an action and the session's id: `open ID`, `fork ID` or `delete ID`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "act('fork')", "Fork", priority=True),
        Binding("ctrl+x", "act('delete')", "Delete", priority=True),
    ]

    def __init__(self, sessions: Sequence[KnownSession], cwd: str, *, can_fork: bool, can_delete: bool) -> None:
        super().__init__("Sessions", _entries(sessions, cwd))
        deletable = [each.session_id for each in sessions if can_delete or each.source == "here"]
        self._can = {"fork": [each.session_id for each in sessions if can_fork], "delete": deletable}
        extra = [f" · {key} {name}" for key, name in (("Ctrl+F", "fork"), ("Ctrl+X", "delete")) if self._can[name]]
        self.hint = f"type to search · Enter open{''.join(extra)} · Esc close"

    def dismiss_with(self, entry: Entry) -> None:
        self.dismiss(f"open {entry.id}")

    def action_act(self, action: str) -> None:
        entry = self.selected
        if entry is not None and entry.id in self._can[action]:
            self.dismiss(f"{action} {entry.id}")


class SavedSessions:
    """`new_session` opens a tab with a new session. `on_delete` is called with the id of a deleted session."""

    def __init__(
        self,
        screen: ScreenContext,
        agent: ScreenAgent,
        tabs: Tabs,
        new_session: Callable[[], None],
        on_delete: Callable[[str], None],
    ) -> None:
        self._screen = screen
        self._agent = agent
        self._tabs = tabs
        self._new_session = new_session
        self._on_delete = on_delete

    async def choose(self) -> None:
        """List the sessions, and open, fork or delete the chosen one."""
        if not is_agent_ready(self._agent, self._screen):
            return
        can = self._agent.client.agent.capabilities
        sessions = {each.session_id: each for each in used_first(await self._agent.sessions.all())}
        if not sessions and not can.list:
            self._screen.tell("This agent cannot list its sessions, and accord has saved none.", "warning")
            return
        cwd = self._tabs.current.cwd
        page = SessionsPage(list(sessions.values()), cwd, can_fork=can.fork, can_delete=can.delete)
        action, _, session_id = (await self._screen.ask_page(page) or "").partition(" ")
        if action == "delete":
            await self._delete(sessions[session_id])
            await self.choose()
        elif action == "open":
            await self._open(sessions[session_id])
        elif action == "fork":
            former = self._tabs.current
            tab = self._tabs.add(sessions[session_id].cwd)
            if await self._agent.fork(tab, session_id):
                self._tabs.note_directory(tab)
                await self._close_unused(former)

    async def _open(self, session: KnownSession) -> None:
        former = self._tabs.current
        tab = next((each for each in self._tabs if each.session_id == session.session_id), None)
        if tab is None:
            tab = self._tabs.add(session.cwd)
        else:
            self._tabs.show(tab)
        if not tab.is_open:
            if not await self._agent.reopen(tab, session.session_id):
                return
            self._tabs.note_directory(tab)
        if tab is not former:
            await self._close_unused(former)

    async def _close_unused(self, tab: SessionTab) -> None:
        """Close the tab that another one was opened from, if nothing was said or typed in it."""
        if tab.is_unused and tab in self._tabs:
            await self._tabs.close(tab)

    async def _delete(self, session: KnownSession) -> None:
        """Delete a session after confirmation, unless the agent is working in it."""
        session_id = session.session_id
        tab = next((each for each in self._tabs if each.session_id == session_id), None)
        if tab is not None and tab.is_busy:
            self._screen.tell("The agent is working in this session. Stop it first.", "warning")
            return
        and_tab = "" if tab is None else ", and close its tab"
        answers = [Entry("keep", "Keep it"), Entry("delete", "Delete it", f"permanently{and_tab}")]
        title = one_line(session.title or session_id, 60)
        if await self._screen.ask_page(QuestionPage(f"Delete “{title}”?", answers)) != "delete":
            return
        if tab is not None:
            if len(self._tabs) == 1:
                self._new_session()
            await self._tabs.close(tab)
        self._on_delete(session_id)
        is_listed = session.source == "agent"
        is_deleted = await self._agent.sessions.delete(session_id, is_listed=is_listed) or not is_listed
        self._screen.tell("Deleted." if is_deleted else "Deleted here; the agent cannot delete its own copy.")
