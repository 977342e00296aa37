"""The Textual app of the terminal client. It creates the parts of the screen and connects them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import ClassVar, Literal

from rich.text import Text
from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import ModalScreen, Screen

from accord.apps.console.sanitizer import one_line, strip_controls
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.blocks.messages import Thought
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.commands import SessionCommands, choose_command
from accord.apps.console.screen.context import ScreenOptions
from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.drawing.code import load_lexers
from accord.apps.console.screen.drawing.palette import ControlFilter, Palette, make_palette, scrollbar_color
from accord.apps.console.screen.errors import crash_report
from accord.apps.console.screen.external_programs import Editor, Shell, TerminalHandover
from accord.apps.console.screen.interrupts import Interrupts
from accord.apps.console.screen.key_bindings import KEYS, SEND, KeyBindings
from accord.apps.console.screen.keys import KeyRouter, modified_enter, recognize_alt_enter
from accord.apps.console.screen.login import LoginController
from accord.apps.console.screen.main_screen import MainScreen
from accord.apps.console.screen.options import OptionController
from accord.apps.console.screen.pages.keys_page import KeysPage
from accord.apps.console.screen.pages.review_page import EditFile, ReviewPage, changed_files
from accord.apps.console.screen.pages.sessions_page import SavedSessions
from accord.apps.console.screen.pasted_pictures import PastedPictures
from accord.apps.console.screen.prompt import PromptController
from accord.apps.console.screen.prompt_history import PromptHistory
from accord.apps.console.screen.prompt_queue import QueuePanel
from accord.apps.console.screen.refresh import ScreenRefresh
from accord.apps.console.screen.resumption import farewell
from accord.apps.console.screen.session import SessionTab, TabChange
from accord.apps.console.screen.shutdown import BackgroundTasks, ExitSignals
from accord.apps.console.screen.slash_completion import CompletionPanel
from accord.apps.console.screen.startup import AgentStarter
from accord.apps.console.screen.tabs import Tabs
from accord.apps.console.screen.theme_choice import StyleSheet, ThemeController
from accord.apps.console.screen.themes import THEMES
from accord.apps.console.screen.undo import UndoController
from accord.apps.console.screen.widgets.conversation_view import ConversationView
from accord.apps.console.screen.widgets.form_bar import LinkBar
from accord.apps.console.screen.widgets.lines_view import LinesView
from accord.apps.console.screen.widgets.prompt_editor import PromptEditor
from accord.apps.console.screen.widgets.tabs_line import TabsLine
from accord.apps.console.screen.wire_log import LogPage
from accord.apps.console.slash_commands import OwnCommand, command_meanings


class ScreenApp(App[int]):
    """The app returns the exit status."""

    CSS_PATH = "look.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Interrupt", show=False, priority=True),
        Binding("ctrl+q", "exit", "Quit", show=False, priority=True, id="exit"),
        Binding("ctrl+p", "command_palette", "Command palette", show=False, priority=True, id="command_palette"),
    ]
    ENABLE_COMMAND_PALETTE = False  # ours looks like the other pages

    def __init__(self, options: ScreenOptions) -> None:
        # Without this, Textual turns each colour into a grey, and the terminal's own text into black on black.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._control_filter = ControlFilter()
        self.options = options
        self.palette: Palette
        self.farewell = ""
        """What to print after the screen is closed."""
        self.key_bindings = KeyBindings(options.keys)
        self.main = MainScreen(self.key_bindings, self._show)
        self.tasks = BackgroundTasks(lambda text: self.tell(text, "error"))
        self.drafts = Drafts(options.state)
        self.history = PromptHistory(options.state, options.agent.key, self.tasks)
        self.shell = Shell()
        self.handover = TerminalHandover(self._suspended, lambda: self.screen_refresh.update_window_title())  # noqa: PLW0108  # it is made below
        self.editor = Editor(self, self.handover)
        self.login = LoginController(self)
        self.agent = ScreenAgent(
            self, on_change=self._agent_changed, choose_login=self.login.choose, run_login=self.handover.run
        )
        self.pictures = PastedPictures(self, self.agent)
        self.undo = UndoController(self)
        self.tabs = Tabs(
            self,
            self.agent,
            self.drafts,
            self.pictures,
            before_turn=self.undo.before_turn,
            on_change=self._tab_changed,
            on_sent=self._prompt_sent,
            on_close=self._tab_closed,
        )
        self.screen_refresh = ScreenRefresh(
            self,
            self.tabs,
            self.agent,
            drafts=self.drafts,
            history=self.history,
            handover=self.handover,
            set_title=self.set_window_title,
            ring=lambda: None if self.app_focus else self.bell(),
        )
        self.prompt_controller = self.prompt.handler = PromptController(
            self,
            self.agent,
            self.history,
            shell=self.shell,
            pictures=self.pictures,
            run_command=self._run_command,
            show_keys=self.action_keys,
        )
        self.interrupts = Interrupts(self, self.shell, self.prompt_controller.clear)
        self.key_router = KeyRouter(self.main, self.prompt, top=lambda: self.screen, run_bindings=self._run_bindings)
        self.option_controller = OptionController(self, self.agent)
        self.saved_sessions = SavedSessions(self, self.agent, self.tabs, self.action_new_session, self.undo.forget)
        self.commands = SessionCommands(self, self.agent, self.tabs, self.editor)
        self.starter = AgentStarter(self, self.agent, self.tabs)
        self.exit_signals = ExitSignals(self.exit)
        self.themes = self._register_themes()

    def _set_keys(self) -> None:
        recognize_alt_enter()
        self.prompt.send_keys = list(self.key_bindings.of(SEND))
        self.set_keymap(self.key_bindings.keymap())
        if self.options.vim:
            self.prompt.use_vim()

    def _register_themes(self) -> ThemeController:
        for theme in THEMES:
            self.register_theme(theme)
        themes = ThemeController(self, self._set_theme)
        self._set_theme(themes.current)
        self.stylesheet = StyleSheet(variables=self.get_css_variables())
        self._set_palette()
        return themes

    def _set_theme(self, name: str) -> None:
        self.theme = name

    @property
    def tab(self) -> SessionTab:
        """The tab on the screen."""
        return self.tabs.current

    @property
    def conversation(self) -> ConversationView:
        return self.main.conversation

    @property
    def prompt(self) -> PromptEditor:
        return self.main.prompt

    # start and end

    def get_default_screen(self) -> Screen[None]:
        return self.main

    def on_mount(self) -> None:
        self._set_keys()
        if not self.is_headless:
            self.exit_signals.install()
        self.theme_changed_signal.subscribe(self, lambda _: self._restyle())
        self.app_resume_signal.subscribe(self, self._resumed)  # pyright: ignore[reportUnknownMemberType]
        self.call_after_refresh(self._begin)

    def _show(self) -> None:
        """Fill the widgets for the first frame."""
        self._restyle()
        self.tabs.show(self.tab)

    def _begin(self) -> None:
        self.screen_refresh.update_window_title()
        for notice in self.options.notices:
            self.tell(notice, "warning")
        self.starter.start()
        self.call_after_refresh(lambda: self.tasks.start(asyncio.to_thread(_load_drawing)))

    def _resumed(self, _: object) -> None:
        self.refresh(layout=True)  # the terminal is empty, and Textual draws only changes
        self.screen_refresh.resumed()

    def _fatal_error(self) -> None:
        self.panic(Text(crash_report()))  # Textual would print the values of all variables

    async def on_unmount(self) -> None:
        self.tabs.save_draft()
        self.farewell = farewell(self.options.agent, self.tabs)
        await self.history.close(self.tabs)
        self.tasks.cancel()
        self.undo.close()
        await self.shell.aclose()
        await self.agent.shut_down()
        self.exit_signals.remove()

    def tell(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """Show a notification, which disappears after a while."""
        self.notify(one_line(text, 400), severity=severity, markup=False)

    @contextmanager
    def _suspended(self) -> Generator[None]:
        # Textual draws while it is suspended, into a queue that nobody empties: a full queue would block everything.
        with self.suspend(), self.batch_update():
            yield

    # tabs

    def _tab_changed(self, tab: SessionTab, what: TabChange) -> None:
        self.screen_refresh.tab_changed(tab, what)
        if what == "status":
            self.undo.status_changed(tab)

    def _prompt_sent(self, tab: SessionTab, text: str) -> None:
        self.history.save(tab, text)
        self.undo.sent(tab, text)

    async def _tab_closed(self, tab: SessionTab) -> None:
        self.screen_refresh.update_tabs()
        self.screen_refresh.update_window_title()
        self.history.save_unsent(tab)
        self.undo.close(tab)
        await self.shell.stop(tab)
        await self.agent.close(tab)

    # colours and the terminal

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        return {**variables, "scrollbar-thumb": scrollbar_color(variables, ansi=self.current_theme.ansi)}

    def _set_palette(self) -> None:
        theme = self.current_theme
        self.palette = make_palette(theme.to_color_system().generate(), dark=theme.dark, ansi=theme.ansi)

    def _restyle(self) -> None:
        self._set_palette()
        self.screen_refresh.restyle()
        for page in self.screen_stack:
            for view in page.query(LinesView):
                view.palette = self.palette

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._control_filter]

    def set_window_title(self, title: str) -> None:
        """Set the title of the terminal's window."""
        if self._driver is not None and not self.is_headless and not self.handover.is_active:
            self._driver.write(f"\x1b]2;{strip_controls(title)}\x07")

    def bell(self) -> None:
        if not self.handover.is_active:
            super().bell()

    # the agent

    def _agent_changed(self) -> None:
        self.screen_refresh.agent_changed()

    async def ask_page(self, page: ModalScreen[str | None]) -> str | None:
        """Show a page and wait for the choice."""
        choice: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def set_choice(result: str | None) -> None:
            if not choice.done():
                choice.set_result(result)

        self.push_screen(page, set_choice)
        return await choice

    # messages of the widgets

    @on(PromptEditor.Quit)
    def _quit(self) -> None:
        self.exit(0)

    @on(PromptEditor.Changed, "#prompt")
    def _prompt_changed(self) -> None:
        self.tab.draft = self.prompt.text
        if self.prompt.text:
            self.undo.prepare(self.tab)
        self.prompt_controller.update_completions()

    @on(CompletionPanel.Chosen)
    def _completion_chosen(self) -> None:
        self.main.focus_prompt()
        self.prompt_controller.accept_completion()

    @on(QueuePanel.Chosen)
    def _queue_chosen(self, event: QueuePanel.Chosen) -> None:
        self.prompt_controller.handle_queue(event.index, event.action)

    @on(ConversationView.BlockAction)
    def _block_action(self, event: ConversationView.BlockAction) -> None:
        self.commands.act_on_block(event.block, event.action)

    @on(EditFile)
    def _edit_file(self, event: EditFile) -> None:
        self.tasks.start(self.editor.open(event.path, event.line))

    @on(LinkBar.Opened)
    def _open_link(self, event: LinkBar.Opened) -> None:
        if event.url.startswith(("https://", "http://")):
            self.open_url(event.url)
        else:
            self.tell("Not opened: only http and https URLs are supported.", "warning")

    @on(TabsLine.Chosen)
    def _tab_chosen(self, event: TabsLine.Chosen) -> None:
        self.tabs.show_at(event.index)

    # keys

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if isinstance(event, events.Key):
                event = modified_enter(event)
                key = (event.character if event.is_printable else None) or event.key
                self.main.questions.held_keys.record(key)
            if await self.key_router.handle(event):
                return
        await super().on_event(event)

    async def _run_bindings(self, key: str) -> bool:
        return await self._check_bindings(key, priority=True) or await self._check_bindings(key)

    def action_stop(self) -> None:
        self.interrupts.escape()

    def action_interrupt(self) -> None:
        self.interrupts.ctrl_c()

    def action_exit(self) -> None:
        self.exit(0)

    def action_next_focus(self) -> None:
        if not (self.prompt_controller.accept_completion() or self.prompt_controller.insert_example()):
            self.main.focus_next_part()

    def action_next_mode(self) -> None:
        if self.main.is_in_form:
            self.screen.focus_previous()
        else:
            self.tasks.start(self.option_controller.next_mode())

    def action_fold_thoughts(self) -> None:
        conversation = self.tab.conversation
        conversation.folds_thoughts = not conversation.folds_thoughts
        self.conversation.fold_all(Thought, conversation.folds_thoughts)

    def action_fold_tool_calls(self) -> None:
        self.conversation.fold_all(ToolCallBlock, any(not block.is_folded for block in self.tab.conversation.calls))

    def action_new_session(self) -> None:
        tab = self.tabs.add()
        if self.agent.state == "ready":
            self.tasks.start(self.agent.open(tab))

    def action_close_session(self) -> None:
        self.tasks.start(self.tabs.close(self.tab))

    def action_next_tab(self, step: int) -> None:
        self.tabs.step(step)

    def action_restart(self) -> None:
        self.starter.restart()

    def action_send_now(self) -> None:
        self.tasks.start(self.prompt_controller.send_now())

    def action_edit_prompt(self) -> None:
        self.tasks.start(self.prompt_controller.edit(self.editor))

    def action_find(self, text: str = "") -> None:
        self.main.open_search(text)

    def action_history(self) -> None:
        self.tasks.start(self.prompt_controller.search_history())

    def action_log(self) -> None:
        self.push_screen(LogPage(self.agent.wire_log, self.palette))

    def action_keys(self) -> None:
        self.push_screen(KeysPage(self.palette, self.key_bindings, command_meanings(self.tab.commands)))

    def action_review(self) -> None:
        self.push_screen(ReviewPage(changed_files(self.tab.conversation), self.tab.cwd, self.palette))

    def action_options(self) -> None:
        self.tasks.start(self.option_controller.choose())

    def action_sessions(self) -> None:
        self.tasks.start(self.saved_sessions.choose())

    def action_theme(self) -> None:
        self.tasks.start(self.themes.choose())

    def action_login(self) -> None:
        self.tasks.start(self.login.log_in(self.agent))

    def action_undo(self) -> None:
        self.tasks.start(self.undo.choose())

    def action_clear(self) -> None:
        self.commands.clear()

    def action_export(self, target: str) -> None:
        self.commands.export(target)

    def _run_command(self, command: OwnCommand, argument: str) -> None:
        """Run a slash command of the screen."""
        action = getattr(self, f"action_{command.action or command.name}")
        action(*[argument] * bool(command.hint))

    def action_command_palette(self) -> None:
        self.tasks.start(choose_command(self, list(self.palette_commands())))

    def palette_commands(self) -> Iterable[SystemCommand]:
        """Every key by its meaning, and commands without a key."""
        for binding in KEYS:
            namespace, _, name = binding.action.rpartition(".")
            if "(" not in name and name not in ("stop", "interrupt", "next_focus", "command_palette"):
                action = getattr(self if namespace else self.main, f"action_{name}")
                title = f"{binding.description[:1].upper()}{binding.description[1:]}"
                yield SystemCommand(title, self.key_bindings.label(binding.id or ""), action)
        yield SystemCommand("Theme: choose the colours", "/theme", self.action_theme)
        yield SystemCommand("Undo: go back to the files before a turn", "/undo", self.action_undo)
        yield SystemCommand("Export the conversation as Markdown", "/export md", lambda: self.commands.export("md"))
        yield SystemCommand("Export the whole transcript as JSON", "/export json", lambda: self.commands.export("json"))
        yield SystemCommand("Paste a picture from the clipboard", "Ctrl+V", self.prompt_controller.paste)
        yield SystemCommand("Forget the choices you made for always", "", self.commands.forget_choices)
        yield SystemCommand("Log in to the agent", "/login", self.action_login)


def _load_drawing() -> None:
    """Load what draws Markdown and code, so that the first answer does not wait for it."""
    import_module("accord.apps.console.screen.drawing.markdown_stream")
    load_lexers()
