"""What becomes of what the user writes: completions while it is written, and where it goes when it is sent."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from accord.apps.console.prompt_history import Prompts
from accord.apps.console.screen.blocks.welcome import EXAMPLES, Welcome
from accord.apps.console.screen.completion_choice import completions, own_command
from accord.apps.console.screen.mentions import list_files
from accord.apps.console.screen.session import Talk
from accord.apps.console.screen.widgets.panels import QueuePanel

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Prompting"]

_KEEPING_SECONDS = 3.0

_FILES_FRESH = 10.0


class Prompting:
    """The prompt of a screen."""

    def __init__(self, app: Console) -> None:
        self._app = app
        state = app.opening.state
        self._kept = None if state is None else Prompts(state)
        self.history: list[str] = [] if self._kept is None else _texts(self._kept)
        self._unkept: deque[tuple[Path, str, str]] = deque()
        """Directory, session and text of those that are not yet in the file."""
        self._keeping: asyncio.Task[None] | None = None
        self._place: int | None = None
        self._draft = ""
        self._files: dict[str, tuple[float, list[str]]] = {}
        """Of each directory: when they were listed, and which they are."""
        self._is_listing = False
        self._closed_for: tuple[str, tuple[int, int]] | None = None

    def focus(self) -> None:
        """At once, unlike `Widget.focus`: the next key is for the prompt."""
        self._app.main.set_focus(self._app.prompt)

    # sending

    def sent(self, text: str) -> None:
        """The user has pressed Enter."""
        app, talk = self._app, self._app.talk
        if not text.strip():
            return
        if own := own_command(text, [] if talk.session is None else talk.session.commands):
            self._clear()
            app.turning.command(*own)
        elif text.startswith("!") and text[1:].strip():
            if app.shell.is_running(talk):
                app.tell("A command runs; Esc ends it.", "warning")
                return
            self._remember(text)
            self.keep(talk, text)
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

    def paste(self) -> None:
        self._app.begin(self._app.pictures.paste())

    def put_aside(self) -> None:
        """Clear the prompt; what was in it comes back with Up."""
        self._remember(self._app.prompt.text)
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
            self.take_back(text)
        if not talk.queue or event.what == "edit":
            self.focus()

    def take_back(self, text: str) -> None:
        """Into the prompt; what stands there comes back with Up."""
        prompt = self._app.prompt
        if prompt.text:
            self._remember(prompt.text)
        prompt.take(text)

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

    def _remember(self, text: str) -> None:
        if text.strip() and (not self.history or self.history[-1] != text):
            self.history.append(text)

    def keep(self, talk: Talk, text: str) -> None:
        """For other screens, and for `--continue`: in the order of the calls, each once."""
        if self._kept is None:
            return
        self._unkept.append((Path(talk.cwd), talk.session_id or "", text))
        if self._keeping is None or self._keeping.done():
            self._keeping = self._app.begin(self._keep(self._kept))

    async def _keep(self, kept: Prompts) -> None:
        while self._unkept:
            await asyncio.to_thread(kept.add, self._app.opening.agent.key, *self._unkept.popleft())

    def keep_unsent(self, talk: Talk, text: str) -> None:
        """What was written and has no other place to stay; it comes back with Up."""
        if text.strip():
            self._remember(text)
            self.keep(talk, text)

    def keep_waiting(self, talk: Talk) -> None:
        """What waits there, and a draft that has no session to be kept for, will not be sent any more: not lost."""
        while talk.queue:
            self.keep(talk, talk.queue.pop(0))
        if talk.session_id is None:
            self.keep_unsent(talk, talk.draft)

    async def kept(self) -> None:
        """Wait until everything is, also what was not sent; but not for ever for a disk that hangs."""
        for talk in self._app.talks:
            self.keep_waiting(talk)
        if self._keeping is not None:
            await asyncio.wait((self._keeping,), timeout=_KEEPING_SECONDS)

    # completing

    def written(self) -> None:
        """The text has changed."""
        app = self._app
        before = app.prompt.before_cursor
        if "@" in before:
            self._refresh_files(app.talk)
        commands = [] if app.talk.session is None else app.talk.session.commands
        is_closed = self._closed_for == (before, app.prompt.cursor_location)
        _, files = self._files.get(app.talk.cwd, (0.0, []))
        offered = [] if is_closed else completions(before, app.prompt.is_on_first_line, commands, files)
        self._app.main.completion.offer(offered, app.palette)

    def steer(self, key: str) -> bool:
        self.written()  # the text may be another than that which the list was made for
        panel, prompt = self._app.main.completion, self._app.prompt
        if panel.chosen is None:
            return False
        match key:
            case "up" | "down":
                panel.move(-1 if key == "up" else 1)
            case "escape":
                self._close()
            case "enter" if panel.chosen.text.strip() == prompt.before_cursor:
                self._close()  # it is written out already
                self.sent(prompt.text)
            case _:
                self.accept_completion()
        return True

    def take_example(self) -> bool:
        """Before anything was said: one of those that the welcome shows, then the next one. Whether there was one."""
        app, text = self._app, self._app.prompt.text
        blocks = app.talk.story.blocks
        is_new = len(blocks) == 1 and isinstance(blocks[0], Welcome) and app.main.questions.question is None
        if not is_new or app.focused is not app.prompt or (text and text not in EXAMPLES):
            return False
        place = EXAMPLES.index(text) + 1 if text else 0
        app.prompt.take(EXAMPLES[place % len(EXAMPLES)])
        return True

    def accept_completion(self) -> bool:
        """Take the chosen one; whether there was one."""
        self.written()
        chosen = self._app.main.completion.chosen
        if chosen is None or self._app.focused is not self._app.prompt:
            return False
        self._app.prompt.replace_before_cursor(chosen.length, chosen.text)
        self._close()
        return True

    def _close(self) -> None:
        self._closed_for = (self._app.prompt.before_cursor, self._app.prompt.cursor_location)
        self.written()

    def _refresh_files(self, talk: Talk) -> None:
        listed = self._files.get(talk.cwd)
        is_fresh = listed is not None and time.monotonic() - listed[0] < _FILES_FRESH
        if not is_fresh and not self._is_listing:
            self._is_listing = True
            self._app.begin(self._list(talk.cwd))

    async def _list(self, cwd: str) -> None:
        files: list[str] = []
        try:
            files = await list_files(cwd)
        finally:
            self._is_listing = False
            self._files[cwd] = (time.monotonic(), files)
        self.written()


def _texts(kept: Prompts) -> list[str]:
    """Each once, where it was last."""
    texts = [each.text for each in kept.listed() if each.text]
    return list(dict.fromkeys(reversed(texts)))[::-1]
