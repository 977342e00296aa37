"""What is told of the talks and the agent, put where the user sees it.

Law: a talk tells what has changed, and here is the only place where that reaches a widget.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.timer import Timer

from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.welcome import Welcome
from accord.apps.console.screen.session import Heard, Question, State, Talk
from accord.apps.console.screen.status import Standing, choices_told, left_of_status, right_of_status
from accord.session.requests import PermissionRequest, ToolCallSubject

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Showing"]

_TYPING = 1.0
"""Who has typed within so many seconds is writing, and is not interrupted."""


class Showing:
    """The widgets of a screen, as far as they show a talk."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self.ticking: Timer | None = None
        self._started_at = time.monotonic()
        self._titled = ""

    def talk_changed(self, talk: Talk, what: Heard) -> None:
        """Something is different in a talk: show it if it is on the screen, mark its tab if not."""
        app = self._app
        if not app.main.is_up or talk not in app.talks:
            return
        if talk is not app.talk:
            self._elsewhere(talk, what)
            return
        match what:
            case "block":  # there may be thousands in a second
                app.conversation.changed()
                return
            case "plan":
                app.main.plan.put_plan(talk.story.plan, app.palette, is_old=talk.story.plan_is_old)
            case "questions":
                self._question(talk)
            case "queue":
                app.main.queue.put_queue(talk.queue, app.palette, held=_why_held(talk))
            case "commands":
                self._welcome(talk)
            case "status":
                self._draft(talk)
                self._welcome(talk)
        self.status()

    def agent_changed(self) -> None:
        """It is starting, ready or gone."""
        if self._app.agent.state == "starting":
            self._started_at = time.monotonic()
        if self._app.main.is_up:
            self.window_title()  # it may have said what it is called
            self.status()

    def _elsewhere(self, talk: Talk, what: Heard) -> None:
        is_news = what in ("block", "questions") and not talk.has_news
        talk.has_news = talk.has_news or is_news
        if what == "questions" and talk.asking.first is not None:
            self._call_for_attention()
        elif what == "questions":
            self.window_title()
        if is_news or what in ("questions", "status"):
            self.tabs()

    def _draft(self, talk: Talk) -> None:
        """What was written in this session before, once."""
        app = self._app
        if talk.session_id is not None and not talk.has_its_draft:
            talk.has_its_draft = True
            draft = app.drafts.of(talk.session_id)
            if not app.prompt.text:
                app.prompt.take(draft)
            elif draft != app.prompt.text:
                app.prompting.keep_unsent(talk, draft)

    def _welcome(self, talk: Talk) -> None:
        app, session = self._app, talk.session
        first = talk.story.blocks[0] if talk.story.blocks else None
        if isinstance(first, Welcome) and session is not None and app.agent.state == "ready":
            info = app.agent.client.agent.info
            about = "" if info is None else f"{info.title or info.name} {info.version}"
            if first.show(app.agent.shown_name, about, choices_told(talk)):
                app.conversation.changed()

    def _question(self, talk: Talk) -> None:
        app, asking, dock = self._app, talk.asking, self._app.main.questions
        had_focus = dock.has_the_focus
        talk.story.ask_about(_call_of(asking.first))
        if not dock.put(asking.first, asking.place, talk.cwd, app.palette, app.agent.keeper):
            return
        if asking.first is None:
            if had_focus:
                app.prompting.focus()
            self.window_title()
            return
        self._call_for_attention()
        is_writing = bool(app.prompt.text) or time.monotonic() - app.prompt.typed_at < _TYPING
        is_covered = app.screen is not app.main or app.handing_over.is_away
        if is_covered and had_focus:  # whoever comes back has not seen this one
            app.prompting.focus()
        elif not is_covered and (had_focus or not is_writing):
            app.call_after_refresh(dock.take_focus)

    def _call_for_attention(self) -> None:
        self.window_title()
        if not self._app.app_focus:
            self._app.bell()

    def come_back(self, _: object) -> None:
        """After an editor, a login or the shell's fg: the terminal is empty, and Textual draws only what has changed."""
        self._app.refresh(layout=True)
        self._app.main.questions.settle()
        self.window_title()

    def window_title(self) -> None:
        """What the terminal's own title says; it begins with a sign while anything is asked, in whichever talk."""
        app = self._app
        self._titled = one_line(_title_of(app.talk), 60)
        words = [self._titled, one_line(app.agent.shown_name, 40), "accord"]
        mark = "? " if any(talk.asking.questions for talk in app.talks) else ""
        app.set_window_title(f"{mark}{' · '.join(filter(None, words))}")

    def status(self) -> None:
        """The last line, and the first."""
        app, talk = self._app, self._app.talk
        is_starting = app.agent.state == "starting"
        self._tick(is_starting or talk.is_busy)
        since = self._started_at if is_starting or talk.busy_since is None else talk.busy_since
        standing = Standing(
            name=app.agent.shown_name,
            state=app.agent.state,
            seconds=time.monotonic() - since,
            start_timeout=app.agent.start_timeout,
            last_words=app.agent.traffic.last_stderr if is_starting else "",
        )
        if one_line(_title_of(talk), 60) != self._titled:
            self.window_title()
        app.main.status.put_status(left_of_status(standing, talk, app.palette), right_of_status(talk, app.palette))
        self.tabs()

    def _tick(self, is_moving: bool) -> None:
        if is_moving and self.ticking is None:
            self.ticking = self._app.set_interval(1.0, self.status)
        elif not is_moving and self.ticking is not None:
            self.ticking.stop()
            self.ticking = None

    def tabs(self) -> None:
        """The sessions that are open."""
        app = self._app
        tabs: list[tuple[str, State, bool]] = [(talk.title, talk.state, talk.has_news) for talk in app.talks]
        app.main.tabs.put_tabs(tabs, app.talks.index(app.talk), app.palette)


def _why_held(talk: Talk) -> str:
    """Why what waits does not go on by itself."""
    if talk.is_unsettled:
        return "held, since the agent is not in the mode you chose; ctrl+s sends it all the same"
    return "held since you stopped, ctrl+s goes on" if talk.is_held else ""


def _title_of(talk: Talk) -> str:
    """What the agent calls it."""
    return "" if talk.session is None else talk.session.transcript.info.title or ""


def _call_of(question: Question | None) -> str | None:
    subject = question.asked.subject if question is not None and isinstance(question.asked, PermissionRequest) else None
    return subject.call.id if isinstance(subject, ToolCallSubject) else None
