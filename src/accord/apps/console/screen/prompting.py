"""What becomes of what the user writes: completions while it is written, and where it goes when it is sent."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

from accord.apps.console.history import Prompts
from accord.apps.console.screen.completing import OWN_COMMANDS, completions
from accord.apps.console.screen.files import list_files
from accord.apps.console.screen.talk import Talk
from accord.apps.console.screen.widgets.panels import QueuePanel

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Prompting"]

_FILES_FRESH = 10.0


class Prompting:
    """The prompt of a screen."""

    def __init__(self, app: Console) -> None:
        self._app = app
        state = app.opening.state
        self._kept = None if state is None else Prompts(state)
        self.history: list[str] = [] if self._kept is None else _texts(self._kept)
        self._place: int | None = None
        self._draft = ""
        self._files: list[str] = []
        self._files_at: float | None = None
        self._is_listing = False

    # sending

    def sent(self, text: str) -> None:
        """The user has pressed Enter."""
        app, talk = self._app, self._app.talk
        if not text.strip():
            return
        name = text.strip().removeprefix("/").partition(" ")[0]
        is_command = text.lstrip().startswith("/") and not self._is_of_agent(name)
        if is_command and name in OWN_COMMANDS:
            self._clear()
            app.turning.command(name, text.strip().partition(" ")[2].strip())
        elif text.startswith("!") and text[1:].strip():
            if app.shell.is_running(talk):
                app.tell("A command runs; Esc ends it.", "warning")
                return
            self._remember(text)
            self._clear()
            app.begin(app.shell.run(talk, text[1:].strip()))
        else:
            self._remember(text)
            self._clear()
            app.conversation.follow()
            talk.send(text)
            if app.agent.state == "gone":
                app.tell("The agent is gone. F5 starts it again; what you wrote waits.", "warning")

    async def send_now(self) -> None:
        """The draft, or else the first that waits, before everything else."""
        talk, text = self._app.talk, self._app.prompt.text
        if text.strip():
            self._remember(text)
            self._clear()
        elif talk.queue:
            text = talk.queue.pop(0)
        else:
            return
        await talk.send_now(text)

    def put_aside(self) -> None:
        """Clear the prompt; what was in it comes back with Up."""
        self._remember(self._app.prompt.text, keep=False)
        self._clear()

    def queue_chosen(self, event: QueuePanel.Chosen) -> None:
        app, talk = self._app, self._app.talk
        if not 0 <= event.place < len(talk.queue):
            return
        text = talk.queue.pop(event.place)
        app.talk_changed(talk, "queue", None)
        if event.what == "send":
            app.begin(talk.send_now(text))
        if event.what == "edit":
            self._take_back(text)
        if not talk.queue or event.what == "edit":
            app.prompt.focus()

    def _take_back(self, text: str) -> None:
        prompt = self._app.prompt
        if prompt.text:
            self._remember(prompt.text, keep=False)  # what was there is not lost
        prompt.take(text)

    def _is_of_agent(self, name: str) -> bool:
        session = self._app.talk.session
        return session is not None and name in [command.name for command in session.commands]

    def _clear(self) -> None:
        self._place = None
        self._app.prompt.take("")
        self._app.talk.draft = ""

    # history

    def edge(self, step: int) -> None:
        """The cursor wants out of the text: into the queue, or back and forth in the history."""
        app, prompt = self._app, self._app.prompt
        talk = app.talk
        if step < 0 and not prompt.text and talk.queue and self._place is None:
            prompt.take(talk.queue.pop())
            app.talk_changed(talk, "queue", None)
            return
        if self._place is None:
            if step > 0 or not self.history:
                return
            self._draft, self._place = prompt.text, len(self.history)
        self._place += step
        if self._place >= len(self.history):
            self._place = None
            prompt.take(self._draft)
            return
        self._place = max(0, self._place)
        prompt.take(self.history[self._place])

    def _remember(self, text: str, *, keep: bool = True) -> None:
        if text.strip() and (not self.history or self.history[-1] != text):
            self.history.append(text)
        talk = self._app.talk
        if keep and self._kept is not None and talk.session_id is not None:
            name, cwd = self._app.opening.name, Path(talk.cwd)
            self._app.begin(asyncio.to_thread(self._kept.add, name, cwd, talk.session_id, text))

    # completing

    def written(self) -> None:
        """The text has changed."""
        app = self._app
        before = app.prompt.before_cursor
        if "@" in before:
            self._refresh_files(app.talk)
        commands = [] if app.talk.session is None else app.talk.session.commands
        offered = completions(before, app.prompt.is_on_first_line, commands, self._files)
        self._app.main.completion.offer(offered, app.palette)
        app.prompt.is_completing = bool(offered)

    def steer(self, key: str) -> None:
        """A key for the list."""
        panel, prompt = self._app.main.completion, self._app.prompt
        match key:
            case "up" | "down":
                panel.move(-1 if key == "up" else 1)
            case "escape":
                self._close()
            case "enter" if panel.chosen is not None and panel.chosen.text.strip() == prompt.before_cursor:
                self._close()  # it is written out already
                self.sent(prompt.text)
            case _:
                self.accept_completion()

    def accept_completion(self) -> bool:
        """Take the chosen one; whether there was one."""
        chosen = self._app.main.completion.chosen
        if chosen is None or not self._app.prompt.has_focus:
            return False
        self._app.prompt.replace_before_cursor(chosen.length, chosen.text)
        self._close()
        return True

    def _close(self) -> None:
        self._app.main.completion.offer([], self._app.palette)
        self._app.prompt.is_completing = False

    def _refresh_files(self, talk: Talk) -> None:
        fresh = self._files_at is not None and time.monotonic() - self._files_at < _FILES_FRESH
        if not fresh and not self._is_listing:
            self._is_listing = True
            self._app.begin(self._list(talk))

    async def _list(self, talk: Talk) -> None:
        try:
            self._files = await list_files(talk.cwd)
        finally:
            self._is_listing = False
            self._files_at = time.monotonic()
        self.written()


def _texts(kept: Prompts) -> list[str]:
    """Each once, where it was last."""
    texts = [each.text for each in kept.listed() if each.text]
    return list(dict.fromkeys(reversed(texts)))[::-1]
