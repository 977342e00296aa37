"""Updates the widgets when a tab or the agent has changed.

Law: a tab only reports what has changed; this is the only place where that reaches a widget.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.blocks.welcome import Welcome
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.external_programs import TerminalHandover
from accord.apps.console.screen.prompt_history import PromptHistory
from accord.apps.console.screen.questions import Question
from accord.apps.console.screen.session import SessionTab, TabChange
from accord.apps.console.screen.status import AgentStatus, current_choices, left_facts, model_hint, right_facts
from accord.apps.console.screen.tabs import Tabs
from accord.apps.console.screen.widgets.tabs_line import TabLabel
from accord.session.requests import PermissionRequest, ToolCallSubject

_TYPING_SECONDS = 1.0
"""A user who has typed within this time is not interrupted."""


class ScreenRefresh:
    """`set_title` sets the title of the terminal's window; `ring` rings the bell if that window has no focus."""

    def __init__(
        self,
        screen: ScreenContext,
        tabs: Tabs,
        agent: ScreenAgent,
        *,
        drafts: Drafts,
        history: PromptHistory,
        handover: TerminalHandover,
        set_title: Callable[[str], None],
        ring: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._main = screen.main
        self._tabs = tabs
        self._agent = agent
        self._drafts = drafts
        self._history = history
        self._handover = handover
        self._set_title = set_title
        self._ring = ring
        self.timer: Timer | None = None
        """Updates the seconds in the status line."""
        self._started_at = time.monotonic()
        self._title = ""

    def tab_changed(self, tab: SessionTab, what: TabChange) -> None:
        """Show the change if the tab is on the screen; else mark the tab."""
        main, palette = self._main, self._screen.palette
        if not main.is_up or tab not in self._tabs:
            return
        if tab is not self._screen.tab:
            self._mark_tab(tab, what)
            return
        match what:
            case "block":  # there may be thousands in a second
                main.conversation.changed()
                return
            case "plan":
                self._show_plan(tab)
            case "questions":
                self._show_question(tab)
            case "queue":
                reason = tab.queue.held_reason(main.keys.hint("send_now"), is_unsettled=tab.is_unsettled)
                prompts = [main.prompt.pasted_texts.fold(each) for each in tab.queue.prompts]
                main.queue.set_queue(prompts, palette, held_reason=reason)
            case "commands":
                self._update_welcome(tab)
            case "status":
                self._show_plan(tab)
                self._restore_draft(tab)
                self._update_welcome(tab)
        self.update_status()

    def _show_plan(self, tab: SessionTab) -> None:
        conversation = tab.conversation
        self._main.plan.set_plan(
            conversation.plan, self._screen.palette, is_old=conversation.plan_is_old, is_idle=not tab.is_busy
        )

    def agent_changed(self) -> None:
        """The agent is starting, ready or gone."""
        if self._agent.state == "starting":
            self._started_at = time.monotonic()
        if self._main.is_up:
            self.update_window_title()  # the agent may have sent its name
            self.update_status()

    def _mark_tab(self, tab: SessionTab, what: TabChange) -> None:
        is_news = what in ("block", "questions") and not tab.has_news
        tab.has_news = tab.has_news or is_news
        if what == "questions" and tab.questions.first is not None:
            self._call_for_attention()
        elif what == "questions":
            self.update_window_title()
        if is_news or what in ("questions", "status"):
            self.update_tabs()

    def _restore_draft(self, tab: SessionTab) -> None:
        """Restore the draft that was saved for the session, once."""
        if tab.session_id is not None and not tab.has_restored_draft:
            tab.has_restored_draft = True
            draft, prompt = self._drafts.of(tab.session_id), self._main.prompt
            if not prompt.text:
                prompt.set_text(draft)
            elif draft != prompt.text:
                self._history.save_draft(tab, draft)

    def _update_welcome(self, tab: SessionTab) -> None:
        agent, first = self._agent, tab.conversation.blocks[0] if tab.conversation.blocks else None
        if isinstance(first, Welcome) and tab.session is not None and agent.state == "ready":
            info = agent.client.agent.info
            version = "" if info is None else f"{info.title or info.name} {info.version}"
            hint = model_hint(tab, self._main.keys) if agent.process.known.is_builtin else ""
            if first.show(agent.display_name, version, current_choices(tab), hint):
                self._main.conversation.changed()

    def _show_question(self, tab: SessionTab) -> None:
        main, dock, question = self._main, self._main.questions, tab.questions.first
        had_focus = dock.has_the_focus
        tab.conversation.mark_question(_tool_call_id(question))
        if not dock.set_question(question, tab.questions.position, tab.cwd, self._screen.palette, self._agent.keeper):
            return
        if question is None:
            if had_focus:
                main.focus_prompt()
            self.update_window_title()
            return
        self._call_for_attention()
        is_typing = (
            bool(main.prompt.text)
            or main.search_bar.has_the_focus
            or time.monotonic() - main.prompt.typed_at < _TYPING_SECONDS
        )
        is_covered = not main.is_active or self._handover.is_active
        if is_covered and had_focus:  # the user has not seen this question
            main.focus_prompt()
        elif not is_covered and (had_focus or not is_typing):
            main.call_after_refresh(dock.take_focus)

    def _call_for_attention(self) -> None:
        self.update_window_title()
        self._ring()

    def resumed(self) -> None:
        """The screen is visible again, after an editor, a login or `fg`."""
        self._main.questions.settle()
        self.update_window_title()

    def restyle(self) -> None:
        """After a change of the theme."""
        palette = self._screen.palette
        self._main.conversation.palette = palette
        self._main.questions.set_palette(palette)
        self._main.completion.set_palette(palette)
        self._main.new_text.set_palette(palette)
        for what in ("plan", "queue"):
            self.tab_changed(self._screen.tab, what)

    def update_window_title(self) -> None:
        """The title of the terminal's window; it begins with a question mark while any tab has a question."""
        self._title = _title_of(self._screen.tab)
        words = [self._title, one_line(self._agent.display_name, 40), "accord"]
        mark = "? " if any(tab.questions.pending for tab in self._tabs) else ""
        self._set_title(f"{mark}{' · '.join(filter(None, words))}")

    def update_status(self) -> None:
        """The status line and the tabs line."""
        agent, tab, palette = self._agent, self._screen.tab, self._screen.palette
        is_starting = agent.state == "starting"
        self._run_timer(is_starting or tab.is_busy)
        since = self._started_at if is_starting or tab.busy_since is None else tab.busy_since
        status = AgentStatus(
            name=agent.display_name,
            state=agent.state,
            seconds=time.monotonic() - since,
            start_timeout=agent.start_timeout,
            last_stderr=agent.wire_log.last_stderr if is_starting else "",
        )
        if _title_of(tab) != self._title:
            self.update_window_title()
        keys = self._main.keys
        self._main.status.set_facts(left_facts(status, tab, palette, keys), right_facts(tab, palette, keys))
        self.update_tabs()

    def _run_timer(self, is_needed: bool) -> None:
        if is_needed and self.timer is None:
            self.timer = self._main.set_interval(1.0, self.update_status)
        elif not is_needed and self.timer is not None:
            self.timer.stop()
            self.timer = None

    def update_tabs(self) -> None:
        labels = [TabLabel(tab.title, tab.state, tab.has_news) for tab in self._tabs]
        self._main.tabs.set_tabs(labels, self._tabs.index(self._screen.tab), self._screen.palette)


def _title_of(tab: SessionTab) -> str:
    """The title that the agent gave."""
    return "" if tab.session is None else one_line(tab.session.transcript.info.title or "", 60)


def _tool_call_id(question: Question | None) -> str | None:
    request = None if question is None else question.request
    subject = request.subject if isinstance(request, PermissionRequest) else None
    return subject.call.id if isinstance(subject, ToolCallSubject) else None
