"""Controls the prompt editor: completions while the user types, and what Enter, Up and Down do."""

from __future__ import annotations

from collections.abc import Callable

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.blocks.welcome import EXAMPLES, Welcome
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.external_programs import Editor, Shell
from accord.apps.console.screen.key_bindings import SEND
from accord.apps.console.screen.mentions import MentionFiles
from accord.apps.console.screen.pasted_pictures import PastedPictures
from accord.apps.console.screen.prompt_history import PromptHistory
from accord.apps.console.screen.prompt_queue import QueueAction
from accord.apps.console.screen.slash_completion import completions
from accord.apps.console.slash_commands import OwnCommand, agent_text, parse_own_command, unknown_command


class PromptController:
    """`run_command` runs a slash command of the screen; `show_keys` shows the keys page."""

    def __init__(
        self,
        screen: ScreenContext,
        agent: ScreenAgent,
        history: PromptHistory,
        *,
        shell: Shell,
        pictures: PastedPictures,
        run_command: Callable[[OwnCommand, str], None],
        show_keys: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._main = screen.main
        self._editor = screen.main.prompt
        self._agent = agent
        self._history = history
        self._shell = shell
        self._pictures = pictures
        self._run_command = run_command
        self._show_keys = show_keys
        self._files = MentionFiles(screen.tasks, self.update_completions)
        self._dismissed: tuple[str, tuple[int, int]] | None = None
        """The text before the cursor, and the cursor, for which the completions were closed."""
        self._unknown = ""
        """The text with an unknown command that Enter did not send."""

    # sending

    def submit(self, text: str) -> None:
        """Enter: run a command of the screen or of the shell, or send the prompt."""
        tab = self._screen.tab
        if not text.strip():
            if self._main.questions.question is not None:
                self._screen.tell(f"{self._main.keys.hint('next_focus')} moves to the question.")
            return
        if command := parse_own_command(text, self._screen.tab.commands):
            self._run_own(*command)
        elif self._is_unknown(text):
            return
        elif text.startswith("!") and text[1:].strip():
            if self._shell.is_running(tab):
                self._screen.tell("A shell command is running; Esc stops it.", "warning")
                return
            self._history.remember(text)
            self._history.save(tab, text)
            self._clear()
            self._screen.tasks.start(self._shell.run(tab, text[1:].strip()))
        else:
            self._history.remember(text)
            self._clear()
            self._main.conversation.follow()
            tab.queue.send(agent_text(text, self._screen.tab.commands))
            if self._agent.state == "gone":
                self._screen.tell(
                    f"The agent has ended. {self._main.keys.hint('restart')} restarts it; your prompt is queued.",
                    "warning",
                )

    def _run_own(self, command: OwnCommand, argument: str) -> None:
        if argument and not command.hint:
            self._screen.tell(f"/{command.name} takes no text after it.", "warning")
            return
        self._clear()
        self._run_command(command, argument)

    def _is_unknown(self, text: str) -> bool:
        """Whether it begins with an unknown command. That is said, and the same text counts as known from then on."""
        if text == self._unknown or self._screen.tab.session is None:  # without a session, its commands are not known
            return False
        advice = f"{self._main.keys.hint(SEND)} again sends it as text."
        message = unknown_command(text, self._screen.tab.commands, advice)
        if message is not None:
            self._unknown = text
            self._screen.tell(message, "warning")
        return message is not None

    async def send_now(self) -> None:
        """Ctrl+S: send the draft, or else the first queued prompt, before everything else."""
        tab, text = self._screen.tab, self._editor.text
        if command := parse_own_command(text, self._screen.tab.commands):
            self._run_own(*command)
            return
        if text.strip():
            if self._is_unknown(text):
                return
            self._history.remember(text)
            self._clear()
            text = agent_text(text, self._screen.tab.commands)
        elif tab.queue:
            text = tab.queue.take()
        else:
            return
        await tab.send_now(text)

    def paste(self) -> None:
        self._screen.tasks.start(self._pictures.paste())

    def show_keys(self) -> None:
        self._show_keys()

    def clear(self) -> None:
        """Clear the prompt; Up brings the text back."""
        self._history.remember(self._editor.text)
        self._clear()

    def replace(self, text: str) -> None:
        """Put a text into the prompt; Up brings the former text back."""
        self._history.remember(self._editor.text)
        self._editor.set_text(text)

    async def edit(self, editor: Editor) -> None:
        """Ctrl+G: edit the prompt in the user's editor; what was typed meanwhile is appended."""
        before = self._editor.text
        edited = await editor.edit_text(before)
        if edited is None:
            return
        now = self._editor.text
        if now.startswith(before):
            self._editor.set_text(edited + now[len(before) :])
        else:
            self.replace(edited)

    async def search_history(self) -> None:
        """Ctrl+R: replace the prompt with an earlier one."""
        text = await self._history.search(self._screen)
        if text is not None:
            self.replace(text)

    def _clear(self) -> None:
        self._history.reset()
        self._unknown = ""
        self._editor.set_text("")
        self._screen.tab.draft = ""

    def handle_queue(self, index: int, action: QueueAction) -> None:
        """Edit, remove or send a queued prompt."""
        tab = self._screen.tab
        if not 0 <= index < len(tab.queue.prompts):
            return
        text = tab.queue.take(index)
        if action == "send":
            self._screen.tasks.start(tab.send_now(text))
        if action == "edit":
            self.replace(text)
        if not tab.queue or action == "edit":
            self._main.focus_prompt()

    def leave_text(self, step: int) -> None:
        """Up or Down at the edge of the text: take the last queued prompt, or step through the history."""
        tab = self._screen.tab
        if step < 0 and not self._editor.text and tab.queue and not self._history.is_browsing:
            self._editor.set_text(tab.queue.take(-1))
            return
        text = self._history.step(step, self._editor.text)
        if text is not None:
            self._editor.set_text(text)

    # completing

    def update_completions(self) -> None:
        """Offer the completions of the text before the cursor."""
        tab, before = self._screen.tab, self._editor.before_cursor
        if "@" in before:
            self._files.refresh(tab.cwd)
        found = []
        if self._dismissed != (before, self._editor.cursor_location):
            found = completions(
                before, self._editor.is_on_first_line, self._screen.tab.commands, self._files.files(tab.cwd)
            )
        self._main.completion.set_completions(found, self._screen.palette)

    def complete(self, key: str) -> bool:
        """Handle a key for the list of completions; returns whether the list is open."""
        self.update_completions()  # the text may have changed since the list was made
        panel = self._main.completion
        if panel.selected is None:
            return False
        match key:
            case "up" | "down":
                panel.move(-1 if key == "up" else 1)
            case "escape":
                self._dismiss()
            case "enter" if panel.selected.text.strip() == self._editor.before_cursor:
                self._dismiss()  # already complete
                self.submit(self._editor.text)
            case _:
                self.accept_completion()
        return True

    def accept_completion(self) -> bool:
        """Insert the selected completion; returns whether there was one."""
        self.update_completions()
        selected = self._main.completion.selected
        if selected is None or not self._main.is_prompt_focused:
            return False
        self._editor.replace_before_cursor(selected.length, selected.text)
        self._dismiss()
        return True

    def _dismiss(self) -> None:
        self._dismissed = (self._editor.before_cursor, self._editor.cursor_location)
        self.update_completions()

    def insert_example(self) -> bool:
        """In a new session, insert the next example of the welcome; returns whether there was one."""
        text, blocks = self._editor.text, self._screen.tab.conversation.blocks
        is_new = len(blocks) == 1 and isinstance(blocks[0], Welcome) and self._main.questions.question is None
        if not is_new or not self._main.is_prompt_focused or (text and text not in EXAMPLES):
            return False
        index = EXAMPLES.index(text) + 1 if text else 0
        self._editor.set_text(EXAMPLES[index % len(EXAMPLES)])
        return True
