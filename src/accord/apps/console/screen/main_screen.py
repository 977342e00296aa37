"""The main screen: its widgets, and the keys that work anywhere in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget

from accord.apps.console.screen.key_bindings import KEYS, KeyBindings
from accord.apps.console.screen.prompt_queue import QueuePanel
from accord.apps.console.screen.search import SearchBar
from accord.apps.console.screen.slash_completion import CompletionPanel
from accord.apps.console.screen.status import StatusLine
from accord.apps.console.screen.widgets.conversation_view import ConversationView, NewTextLine
from accord.apps.console.screen.widgets.permission_bar import PermissionBar
from accord.apps.console.screen.widgets.plan_panel import PlanPanel
from accord.apps.console.screen.widgets.prompt_editor import PromptEditor
from accord.apps.console.screen.widgets.question_dock import QuestionDock
from accord.apps.console.screen.widgets.tabs_line import TabsLine


class MainScreen(Screen[None]):
    """From top to bottom: tabs, conversation, search, plan, question, queue, completions, prompt, status."""

    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]
    AUTO_FOCUS = "PromptEditor"

    def __init__(self, keys: KeyBindings, fill: Callable[[], None]) -> None:
        super().__init__()
        self.keys = keys
        self._fill = fill
        """Puts the first contents into the widgets, before they are painted for the first time."""
        self.tabs = TabsLine(id="tabs")
        self.conversation = ConversationView(id="conversation")
        self.new_text = NewTextLine(keys.label("follow"), id="new-text")
        self.search_bar = SearchBar(self.close_search, self.conversation.move_match, id="search")
        self.plan = PlanPanel(id="plan")
        self.questions = QuestionDock(keys, id="questions")
        self.queue = QueuePanel(keys, id="queue")
        self.completion = CompletionPanel(id="completion")
        self.prompt = PromptEditor(id="prompt")
        self.status = StatusLine(id="status")

    @property
    def is_up(self) -> bool:
        """Whether its widgets can be updated: after mounting and before the end."""
        return self.is_running and self.prompt.is_running

    def on_mount(self) -> None:
        self._fill()
        # A plan, a queue or a long prompt leaves less room for a question.
        self.screen_layout_refresh_signal.subscribe(self, self._fit)  # pyright: ignore[reportUnknownMemberType]

    def on_screen_resume(self) -> None:
        self.questions.settle()

    def _fit(self, _: object) -> None:
        self.questions.fit(self.size.height)

    def compose(self) -> ComposeResult:
        """Without what is seldom needed: the search and the line about new text come when they are."""
        yield self.tabs
        yield self.conversation
        yield self.plan
        yield self.questions
        yield self.queue
        with Vertical(id="foot"):  # docked: the prompt and the status stay visible whatever is above
            yield self.completion
            yield self.prompt
            yield self.status

    @property
    def is_prompt_focused(self) -> bool:
        """Whether the next key goes to the prompt."""
        return self.is_active and self.focused is self.prompt

    def focus_prompt(self) -> None:
        """At once, unlike `Widget.focus`: the next key goes to the prompt."""
        self.set_focus(self.prompt)

    def focus_next_part(self) -> None:
        """Move the focus between the prompt, the question, the queue and the conversation."""
        if self.questions.question is not None and not self.questions.has_the_focus:
            self.questions.take_focus()
        elif self.is_in_form:
            self.focus_next()
        else:
            search = [self.search_bar.field] if self.search_bar.display else []
            queue = [self.queue] if self.queue.content else []
            parts: list[Widget] = [self.prompt, *queue, *search, self.conversation]
            index = parts.index(self.focused) if self.focused in parts else -1
            self.set_focus(parts[(index + 1) % len(parts)])

    @property
    def is_in_form(self) -> bool:
        """Whether a field of a form has the focus."""
        return self.questions.has_the_focus and not isinstance(self.focused, PermissionBar)

    def action_scroll_page(self, step: int) -> None:
        view, focused = self.conversation, self.focused
        if isinstance(focused, PermissionBar):
            focused.scroll_page(step)
            return
        view.scroll_to(y=view.scroll_offset.y + step * max(1, view.size.height - 2), animate=False)

    def open_search(self, text: str = "") -> None:
        """Search in the conversation; while a search has the focus, go to the match above."""
        if self.search_bar.has_the_focus and not text:
            self.conversation.move_match(-1)
            return
        if not self.search_bar.is_attached:
            self.mount(self.search_bar, before=self.plan)
        self.search_bar.open(text)

    @on(ConversationView.SearchEnded)
    def close_search(self) -> None:
        had_focus = self.search_bar.has_the_focus
        self.search_bar.close()
        self.conversation.end_search()
        if had_focus:
            self.focus_prompt()

    @on(SearchBar.Changed)
    def _search(self, event: SearchBar.Changed) -> None:
        if self.search_bar.display:  # it may have been closed meanwhile
            self.conversation.search(event.text)

    @on(ConversationView.Found)
    def _show_matches(self, event: ConversationView.Found) -> None:
        self.search_bar.show_count(event.position, event.count, is_complete=event.is_complete)

    @on(ConversationView.NewText)
    def _show_new_text(self, event: ConversationView.NewText) -> None:
        if (palette := self.conversation.palette) is not None:
            self.new_text.show(event.is_below, palette)
            if not self.new_text.is_attached:
                self.mount(self.new_text, after=self.conversation)

    @on(NewTextLine.Clicked)
    def action_follow(self) -> None:
        self.conversation.follow()
