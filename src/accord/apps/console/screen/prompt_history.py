"""The prompt history: Up and Down step through it, Ctrl+R searches it, and it is saved for other screens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from accord.apps.console import prompt_history
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.screen.shutdown import BackgroundTasks

_SAVE_TIMEOUT = 3.0


class PromptHistory:
    """The prompts of this and earlier screens. `state` is the directory to save them in, `agent` the key to save them for."""

    def __init__(self, state: Path | None, agent: str, tasks: BackgroundTasks) -> None:
        self._file = None if state is None else prompt_history.PromptHistory(state)
        self._agent = agent
        self._tasks = tasks
        self.prompts: list[str] = []
        if self._file is not None:  # each prompt once, at its last position
            texts = [each.text for each in self._file.entries() if each.text]
            self.prompts = list(dict.fromkeys(reversed(texts)))[::-1]
        self._unsaved: deque[tuple[Path, str, str]] = deque()
        """The directory, session id and text of the prompts that are not in the file yet."""
        self._saving: asyncio.Task[None] | None = None
        self._index: int | None = None
        """The prompt that is shown in the editor; None for the draft."""
        self._draft = ""

    @property
    def is_browsing(self) -> bool:
        """Whether the editor shows a prompt of the history."""
        return self._index is not None

    def remember(self, text: str) -> None:
        """Add a prompt to those of this screen."""
        if text.strip() and (not self.prompts or self.prompts[-1] != text):
            self.prompts.append(text)

    def reset(self) -> None:
        """Start from the end again."""
        self._index = None

    def step(self, step: int, text: str) -> str | None:
        """Go back or forth from `text`; returns the text to show, or None if there is nothing in that direction."""
        if self._index is None:
            if step > 0 or not self.prompts:
                return None
            self._draft, self._index = text, len(self.prompts)
        self._index += step
        if self._index >= len(self.prompts):
            self._index = None
            return self._draft
        self._index = max(0, self._index)
        return self.prompts[self._index]

    async def search(self, screen: ScreenContext) -> str | None:
        """Ctrl+R: let the user choose an earlier prompt."""
        prompts = list(dict.fromkeys(reversed(self.prompts)))
        entries = [Entry(str(index), one_line(text)) for index, text in enumerate(prompts)]
        choice = await screen.ask_page(ChoicePage("Prompt history", entries))
        return None if choice is None else prompts[int(choice)]

    def save(self, tab: SessionTab, text: str) -> None:
        """Save a prompt for other screens and for `--continue`, in the order of the calls."""
        if self._file is None:
            return
        self._unsaved.append((Path(tab.cwd), tab.session_id or "", text))
        if self._saving is None or self._saving.done():
            self._saving = self._tasks.start(self._save(self._file))

    async def _save(self, file: prompt_history.PromptHistory) -> None:
        while self._unsaved:
            await asyncio.to_thread(file.add, self._agent, *self._unsaved.popleft())

    def save_draft(self, tab: SessionTab, text: str) -> None:
        """Save a text that was not sent and is stored nowhere else; Up brings it back."""
        if text.strip():
            self.remember(text)
            self.save(tab, text)

    def save_unsent(self, tab: SessionTab) -> None:
        """Save the queue of a tab that is closed, and its draft if there is no session to store it for."""
        while tab.queue:
            self.save(tab, tab.queue.take())
        if tab.session_id is None:
            self.save_draft(tab, tab.draft)

    async def close(self, tabs: Iterable[SessionTab]) -> None:
        """Save everything that was not sent. Waits a limited time for a disk that does not answer."""
        for tab in tabs:
            self.save_unsent(tab)
        if self._saving is not None:
            await asyncio.wait((self._saving,), timeout=_SAVE_TIMEOUT)
