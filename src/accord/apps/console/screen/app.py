"""The terminal client's screen as a program: it brings together the agent, the talks and the keys."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from accord.apps.console.sanitizer import one_line, without_controls
from accord.apps.console.screen.agent import AgentSide
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.messages import Thought
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.commands import PageTurning
from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.drawing.code import warm_up
from accord.apps.console.screen.drawing.palette import ControlFilter, Palette, palette_of
from accord.apps.console.screen.errors import own_fault
from accord.apps.console.screen.external_programs import Editing, HandingOver, Shell
from accord.apps.console.screen.keys import Keyboard
from accord.apps.console.screen.login import LoggingIn
from accord.apps.console.screen.main_screen import MainScreen
from accord.apps.console.screen.pages.review_page import EditFile
from accord.apps.console.screen.pasted_pictures import Pictures
from accord.apps.console.screen.prompt_line import Prompting
from accord.apps.console.screen.refresh import Showing
from accord.apps.console.screen.session import Heard, Talk
from accord.apps.console.screen.shutdown import Ending
from accord.apps.console.screen.startup import Starting
from accord.apps.console.screen.startup_options import Opening
from accord.apps.console.screen.tabs import Tabs
from accord.apps.console.screen.themes import THEMES, usual_theme
from accord.apps.console.screen.widgets.completion import CompletionPanel
from accord.apps.console.screen.widgets.conversation_view import ConversationView
from accord.apps.console.screen.widgets.form import LinkBar
from accord.apps.console.screen.widgets.lines import LinesView
from accord.apps.console.screen.widgets.panels import QueuePanel, TabsLine
from accord.apps.console.screen.widgets.permission import PermissionBar
from accord.apps.console.screen.widgets.prompt import PromptEditor
from accord.client.target import Command
from accord.errors import AccordError
from accord.session.capabilities import AuthMethod

__all__ = ["Console"]

log = logging.getLogger("accord.console")


class Console(App[int]):
    """`opening` says which agent and where."""

    CSS_PATH = "look.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", "Leave", show=False, priority=True),
    ]
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, opening: Opening) -> None:
        # Textual would make a grey of each colour, and black of the terminal's own, which is then black on black.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._control_filter = ControlFilter()
        self.opening = opening
        self.agent = AgentSide(
            opening.target,
            self,
            known=opening.agent,
            records=opening.records,
            permissions=opening.permissions,
            servers=opening.servers,
            version=opening.version,
            deadlines=opening.deadlines,
        )
        self.drafts = Drafts(opening.state)
        self.shell = Shell()
        self.tabs = Tabs(self)
        self.starting = Starting(self)
        self.palette: Palette
        self.prompting = Prompting(self)
        self.turning = PageTurning(self)
        self.editing = Editing(self)
        self.pictures = Pictures(self)
        self.logging_in = LoggingIn(self)
        self.handing_over = HandingOver(self)
        self.keyboard = Keyboard(self)
        self.ending = Ending(self.exit)
        self.main = MainScreen()
        self.main.prompt.writing = self.prompting
        self.presses = self.main.questions.presses
        self.showing = Showing(self)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.faults: list[BaseException] = []
        """What failed and should not have: our own mistakes."""
        self._last_interrupt = 0.0
        self._has_stopped = False
        """By a Ctrl-C that may still be held down: then it does nothing else."""
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = opening.theme or usual_theme(os.environ)
        self._set_palette()

    @property
    def talk(self) -> Talk:
        """The one that is on the screen."""
        return self.tabs.current

    @property
    def talks(self) -> list[Talk]:
        return self.tabs.talks

    @property
    def conversation(self) -> ConversationView:
        return self.main.conversation

    @property
    def prompt(self) -> PromptEditor:
        return self.main.prompt

    # its life

    def get_default_screen(self) -> Screen[None]:
        return self.main

    def on_mount(self) -> None:
        if not self.is_headless:
            self.ending.heed()
        self.theme_changed_signal.subscribe(self, lambda _: self._restyle())
        self.app_resume_signal.subscribe(self, self.showing.come_back)  # pyright: ignore[reportUnknownMemberType]
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._restyle()
        self.tabs.show(self.talk)
        self.showing.window_title()
        for notice in self.opening.notices:
            self.tell(notice, "warning")
        self.starting.first()
        self.begin(asyncio.to_thread(warm_up))

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something beside; what it fails with is told, and it ends with the screen."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AccordError | OSError | ValueError):
            self.tell(str(error), "error")
        elif error is not None:
            self.faults.append(error)
            log.error("a fault of the screen", exc_info=error)
            self.tell(f"A fault of accord itself, please report it: {error!r}", "error")

    def _fatal_error(self) -> None:
        self.panic(Text(own_fault()))  # Textual would print the values of all variables

    async def on_unmount(self) -> None:
        self.tabs.keep_draft()
        await self.prompting.kept()
        for task in list(self._tasks):
            task.cancel()
        await self.shell.aclose()
        await self.agent.end()
        self.ending.forget()

    def tell(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """A line that goes away by itself."""
        self.notify(one_line(text, 400), severity=severity, markup=False)

    # the talks

    def current_talk(self) -> Talk | None:
        return self.talk

    def talk_changed(self, talk: Talk, what: Heard, block: Block | None) -> None:
        self.showing.talk_changed(talk, what)

    # the look

    def _set_palette(self) -> None:
        theme = self.current_theme
        self.palette = palette_of(theme.to_color_system().generate(), dark=theme.dark, ansi=theme.ansi)

    def _restyle(self) -> None:
        self._set_palette()
        self.conversation.palette = self.palette
        self.main.questions.put_palette(self.palette)
        for page in self.screen_stack:
            for view in page.query(LinesView):
                view.palette = self.palette
        for what in ("plan", "queue"):
            self.talk_changed(self.talk, what, None)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._control_filter]

    def set_window_title(self, title: str) -> None:
        """The title of the terminal itself."""
        if self._driver is not None and not self.is_headless and not self.handing_over.is_away:
            self._driver.write(f"\x1b]2;{without_controls(title)}\x07")

    def bell(self) -> None:
        if not self.handing_over.is_away:
            super().bell()

    # what the agent's side wants

    def agent_changed(self) -> None:
        self.showing.agent_changed()

    async def choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        return await self.logging_in.choose(methods)

    async def run_login(self, command: Command) -> int:
        return await self.handing_over.run(command)

    async def ask_page(self, page: Screen[str | None]) -> str | None:
        """Show a page and wait for what is chosen there."""
        chosen: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def ended(result: str | None) -> None:
            if not chosen.done():
                chosen.set_result(result)

        self.push_screen(page, ended)
        return await chosen

    # messages of the widgets

    @on(PromptEditor.Leave)
    def _leave(self) -> None:
        self.exit(0)

    @on(PromptEditor.Changed, "#prompt")
    def _written(self) -> None:
        self.talk.draft = self.prompt.text
        self.prompting.written()

    @on(CompletionPanel.Taken)
    def _completion_taken(self) -> None:
        self.prompting.focus()
        self.prompting.accept_completion()

    @on(QueuePanel.Chosen)
    def _queue_chosen(self, event: QueuePanel.Chosen) -> None:
        self.prompting.queue_chosen(event)

    @on(ConversationView.Acted)
    def _acted(self, event: ConversationView.Acted) -> None:
        self.turning.block_acted(event.block, event.what)

    @on(EditFile)
    def _edit_file(self, event: EditFile) -> None:
        self.begin(self.editing.file(event.path, event.line))

    @on(LinkBar.Opened)
    def _open_link(self, event: LinkBar.Opened) -> None:
        if event.url.startswith(("https://", "http://")):
            self.open_url(event.url)
        else:
            self.tell("Only http and https addresses are opened.", "warning")

    # keys

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.Key):
                self.presses.note((event.character if event.is_printable else None) or event.key)
            if await self.keyboard.takes(event):
                return
        await super().on_event(event)

    async def does(self, key: str) -> bool:
        """Whether the key means something where the focus is, or around it; then it is done now."""
        return await self._check_bindings(key, priority=True) or await self._check_bindings(key)

    def action_stop(self) -> None:
        talk = self.talk
        if self.shell.is_running(talk):
            self.begin(self.shell.stop(talk))
        elif talk.is_stopping:
            if not self.presses.is_held("escape"):
                talk.kill()
        elif talk.is_busy:
            self.begin(talk.stop())
        elif self.focused is not self.prompt:
            self.prompting.focus()

    def action_interrupt(self) -> None:
        self._has_stopped = self._has_stopped and self.presses.is_held("ctrl+c")
        selected = self.screen.get_selected_text() or (self.prompt.selected_text if self.prompt.has_focus else "")
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            self.tell("Copied.")
        elif self.screen is not self.main:
            self.screen.dismiss(None)
        elif self.talk.is_busy or self.shell.is_running(self.talk):
            self._has_stopped = True
            self.action_stop()
        elif self._has_stopped:
            return
        elif self.prompt.text:
            self.prompting.put_aside()
        elif time.monotonic() - self._last_interrupt < 3:
            self.exit(0)
        else:
            self._last_interrupt = time.monotonic()
            self.tell("Press Ctrl-C again to leave.")

    def action_leave(self) -> None:
        self.exit(0)

    def action_other_focus(self) -> None:
        if self.prompting.accept_completion() or self.prompting.take_example():
            return
        places: list[Any] = [self.prompt, *([self.main.queue] if self.talk.queue else []), self.conversation]
        if self.main.questions.question is not None and not self.main.questions.has_the_focus:
            self.main.questions.take_focus()
        elif self.main.questions.has_the_focus and not isinstance(self.focused, PermissionBar):
            self.screen.focus_next()
        else:
            here = places.index(self.focused) if self.focused in places else -1
            self.screen.set_focus(places[(here + 1) % len(places)])

    def action_next_mode(self) -> None:
        if self.main.questions.has_the_focus and not isinstance(self.focused, PermissionBar):
            self.screen.focus_previous()
        else:
            self.begin(self.turning.next_mode())

    def action_thoughts(self) -> None:
        story = self.talk.story
        story.folds_thoughts = not story.folds_thoughts
        self._fold(Thought, story.folds_thoughts)

    def action_unfold(self) -> None:
        calls = [block for block in self.talk.story.blocks if isinstance(block, ToolCallBlock)]
        self._fold(ToolCallBlock, any(not block.is_folded for block in calls))

    def _fold(self, kind: type[Block], folded: bool) -> None:
        for block in self.talk.story.blocks:
            if isinstance(block, kind):
                block.fold(folded)
        self.conversation.changed()

    def action_page(self, step: int) -> None:
        view, focused = self.conversation, self.focused
        if isinstance(focused, PermissionBar):
            focused.scroll_page(step)
            return
        view.scroll_to(y=view.scroll_offset.y + step * max(1, view.size.height - 2), animate=False)

    def action_to_end(self) -> None:
        self.conversation.follow()

    def action_new_session(self) -> None:
        talk = self.tabs.add()
        if self.agent.state == "ready":
            self.begin(self.agent.open(talk))

    def action_close_session(self) -> None:
        self.begin(self.tabs.close(self.talk))

    def action_next_tab(self, step: int) -> None:
        self.tabs.go(step)

    @on(TabsLine.Chosen)
    def _tab_chosen(self, event: TabsLine.Chosen) -> None:
        self.tabs.go_to(event.place)

    def action_restart(self) -> None:
        self.starting.again()

    def action_send_now(self) -> None:
        self.begin(self.prompting.send_now())

    def action_edit_draft(self) -> None:
        self.begin(self.editing.prompt())

    def action_history(self) -> None:
        self.begin(self.turning.history())

    def action_log(self) -> None:
        self.turning.log()

    def action_keys(self) -> None:
        self.turning.keys()

    def action_options(self) -> None:
        self.begin(self.turning.options())

    def action_sessions(self) -> None:
        self.begin(self.turning.sessions())

    def action_review(self) -> None:
        self.turning.review()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        return self.turning.palette()
