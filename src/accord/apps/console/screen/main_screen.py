"""The main screen: what is where, and what each key does there."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen

from accord.apps.console.screen.widgets.completion import CompletionPanel
from accord.apps.console.screen.widgets.conversation_view import ConversationView
from accord.apps.console.screen.widgets.panels import PlanPanel, QueuePanel, StatusLine, TabsLine
from accord.apps.console.screen.widgets.prompt import PromptEditor
from accord.apps.console.screen.widgets.questions import QuestionDock

__all__ = ["KEYS", "MainScreen"]


def _key(keys: str, action: str, meaning: str, *, first: bool = False) -> Binding:
    return Binding(keys, f"app.{action}", meaning, show=False, priority=first)


KEYS = [
    _key("escape", "stop", "stop the agent; again, kill it"),
    _key("ctrl+c", "interrupt", "copy what is selected; else stop; else clear the prompt; else leave", first=True),
    _key("shift+tab", "next_mode", "the next mode", first=True),
    _key("tab", "other_focus", "between the prompt, a question, what waits and the conversation", first=True),
    _key("ctrl+p", "command_palette", "the palette: everything by its name", first=True),
    _key("ctrl+t", "thoughts", "show or fold thoughts", first=True),
    _key("ctrl+o", "unfold", "show or fold all tool calls", first=True),
    _key("ctrl+r", "history", "search the prompts you have sent", first=True),
    _key("ctrl+s", "send_now", "send now: stop what runs and send this first", first=True),
    _key("ctrl+g", "edit_draft", "write the prompt in $EDITOR", first=True),
    _key("pageup", "page(-1)", "scroll up", first=True),
    _key("pagedown", "page(1)", "scroll down", first=True),
    _key("ctrl+end", "to_end", "to the end of the conversation, and follow it", first=True),
    _key("ctrl+n", "new_session", "a new session in a tab", first=True),
    _key("alt+w", "close_session", "close this tab", first=True),
    _key("alt+right,ctrl+pagedown", "next_tab(1)", "the next tab", first=True),
    _key("alt+left,ctrl+pageup", "next_tab(-1)", "the tab before", first=True),
    _key("ctrl+l", "log", "the log: traffic and stderr", first=True),
    _key("f1", "keys", "these keys"),
    _key("f2", "options", "modes, models and all options"),
    _key("f3", "sessions", "the sessions that the agent has kept"),
    _key("f4", "review", "all files that were changed"),
    _key("f5", "restart", "start the agent again, with its sessions"),
    _key("ctrl+z", "suspend_process", "back to the shell, whose fg goes on here (not on Windows)", first=True),
    _key("ctrl+q", "leave", "leave", first=True),
]


class MainScreen(Screen[None]):
    """From top to bottom: tabs, conversation, plan, question, queue, completions, prompt, status."""

    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]
    AUTO_FOCUS = "PromptEditor"

    def __init__(self) -> None:
        super().__init__()
        self.tabs = TabsLine(id="tabs")
        self.conversation = ConversationView(id="conversation")
        self.plan = PlanPanel(id="plan")
        self.questions = QuestionDock(id="questions")
        self.queue = QueuePanel(id="queue")
        self.completion = CompletionPanel(id="completion")
        self.prompt = PromptEditor(id="prompt")
        self.status = StatusLine(id="status")

    @property
    def is_up(self) -> bool:
        """Whether there is something to show things on: not yet before the first moment, and no more after the last."""
        return self.is_running and self.prompt.is_running

    def on_mount(self) -> None:
        # A plan, a queue or a long prompt may come while something is asked: then there is less room for that.
        self.screen_layout_refresh_signal.subscribe(self, self._fit)  # pyright: ignore[reportUnknownMemberType]

    def on_screen_resume(self) -> None:
        self.questions.settle()

    def _fit(self, _: object) -> None:
        self.questions.fit(self.size.height)

    def compose(self) -> ComposeResult:
        yield self.tabs
        yield self.conversation
        yield self.plan
        yield self.questions
        yield self.queue
        with Vertical(id="foot"):  # docked: whatever is asked above, one can always write and see how things stand
            yield self.completion
            yield self.prompt
            yield self.status
