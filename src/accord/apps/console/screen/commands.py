"""Commands on the current session: actions on a block, a fresh start, export, forgetting choices; the command palette."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.app import SystemCommand

from accord.apps.console.permission_flags import forget_choices
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.export import export, export_path
from accord.apps.console.screen.external_programs import Editor
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.screen.tabs import Tabs
from accord.client.session import Session
from accord.errors import AccordError


class SessionCommands:
    """They act on the tab on the screen."""

    def __init__(self, screen: ScreenContext, agent: ScreenAgent, tabs: Tabs, editor: Editor) -> None:
        self._screen = screen
        self._agent = agent
        self._tabs = tabs
        self._editor = editor

    def act_on_block(self, block: Block, action: str) -> None:
        """Copy a block, open its file in the editor, or stop it."""
        session = self._screen.tab.session
        if action == "copy":
            self._screen.copy_to_clipboard(block.plain())
            self._screen.tell("Copied.")
        elif isinstance(block, ToolCallBlock) and action == "edit":
            files = [(location.path, location.line) for location in block.call.locations]
            files += [(diff.path, None) for diff in block.diffs]
            if files:
                self._screen.tasks.start(self._editor.open(*files[0]))
        elif isinstance(block, ToolCallBlock) and action == "stop" and session is not None:
            self._stop(block, session)

    def _stop(self, block: ToolCallBlock, session: Session) -> None:
        cancellable = [terminal.id for terminal in block.terminals if terminal.cancellable and terminal.exit is None]
        if block.call.cancellable and not block.call.finished:
            self._screen.tasks.start(session.cancel_tool_call(block.call.id))
        elif cancellable:
            self._screen.tasks.start(session.cancel_terminal(cancellable[0]))
        elif kills := self._agent.kill_terminals([terminal.id for terminal in block.terminals]):
            for kill in kills:
                self._screen.tasks.start(kill)
        elif block.call.finished:
            self._screen.tell("It has already ended.")
        else:
            self._screen.tell("The agent cannot stop a single tool call; Esc stops the turn.", "warning")

    def clear(self) -> None:
        """`/clear`: begin a new session in this tab. The old one is closed, not deleted."""
        tab = self._screen.tab
        if tab.is_busy:
            self._screen.tell("The agent is working; Esc stops it.", "warning")
            return
        new = self._tabs.add(tab.cwd, self._tabs.index(tab))
        self._screen.tasks.start(self._tabs.close(tab))
        if self._agent.state == "ready":
            self._screen.tasks.start(self._agent.open(new))

    def export(self, target: str) -> None:
        """`/export`: to a path relative to the session's directory; for nothing, `md` or `json`, to a new file there."""
        session = self._screen.tab.session
        if session is None:
            self._screen.tell("There is nothing to export yet.", "warning")
            return
        path = export_path(target, Path(session.cwd), session.id)
        try:
            export(session.transcript, path)
        except (OSError, ValueError) as error:  # ValueError: an impossible name
            reason = error.strerror if isinstance(error, OSError) else error
            self._screen.tell(f"Cannot write {path}: {reason}", "error")
        else:
            self._screen.tell(f"Written to {path}")

    def forget_choices(self) -> None:
        """Forget the permission answers given for always: here, and in the built-in agent."""
        agent, tab = self._agent, self._screen.tab
        agent.choices.forget()
        if agent.state == "ready":
            agent.client.forget_all_writes()
        if agent.keeper == "built-in agent":
            self._screen.tasks.start(self._revoke_choices())
            return
        name = one_line(agent.display_name, 40)
        tab.add_note(f"accord asks you again; it cannot revoke what {name} has saved itself: see its settings")

    async def _revoke_choices(self) -> None:
        sessions = [tab.session.id for tab in self._tabs if tab.session is not None and not tab.session.is_closed]
        reason = "no session is open"
        if self._agent.state == "ready" and sessions:
            try:
                count = await forget_choices(self._agent.client, sessions)
            except AccordError as error:
                reason = str(error)
            else:
                choices = f"{count} choice{'s' * (count != 1)}"
                self._screen.tab.add_note(f"{choices} for always revoked: accord asks you again")
                return
        text = f"nothing was revoked ({reason}); run `accord permissions --revoke-all` in the project"
        self._screen.tab.add_note(text)


async def choose_command(screen: ScreenContext, commands: Sequence[SystemCommand]) -> None:
    """The command palette: let the user choose a command, and run it."""
    entries = [Entry(str(index), command.title, command.help) for index, command in enumerate(commands)]
    chosen = await screen.ask_page(ChoicePage("Commands", entries))
    if chosen is not None:
        commands[int(chosen)].callback()
