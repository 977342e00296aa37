"""The open tabs, one of them on the screen. Law: there is always one, and the draft of each is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.blocks.welcome import Welcome
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.mentions import prompt_content
from accord.apps.console.screen.pasted_pictures import PastedPictures
from accord.apps.console.screen.session import SessionTab, TabChange
from accord.apps.console.session_settings import SessionSettings
from accord.session.content import Content


class Tabs(list[SessionTab]):
    """`on_change` and `on_sent` are those of each tab. `on_close` is called after a tab was closed.

    Each prompt waits for `before_turn`.
    """

    def __init__(
        self,
        screen: ScreenContext,
        agent: ScreenAgent,
        drafts: Drafts,
        pictures: PastedPictures,
        *,
        before_turn: Callable[[SessionTab], Awaitable[None]],
        on_change: Callable[[SessionTab, TabChange], None],
        on_sent: Callable[[SessionTab, str], None],
        on_close: Callable[[SessionTab], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._cwd = str(screen.options.cwd)
        self._main = screen.main
        self._agent = agent
        self._drafts = drafts
        self._pictures = pictures
        self._before_turn = before_turn
        self._on_change = on_change
        self._on_sent = on_sent
        self._on_close = on_close
        self.current = self._new(SessionSettings(screen.options.mode, screen.options.model))

    def _new(self, settings: SessionSettings, cwd: str | None = None, index: int | None = None) -> SessionTab:
        tab = SessionTab(
            cwd or self._cwd,
            self._on_change,
            self._compose,
            self._on_sent,
            settings,
            keys=self._main.keys,
            fold_pastes=self._main.prompt.pasted_texts.fold,
        )
        tab.conversation.blocks.append(Welcome(self._agent.display_name, tab.cwd, self._main.keys))
        self.insert(len(self) if index is None else index, tab)
        return tab

    async def _compose(self, tab: SessionTab, text: str) -> list[Content]:
        can, pictures = self._agent.client.agent.capabilities, self._pictures.contents(text)
        if pictures and not can.image:
            tab.add_note("this agent does not accept images: the pasted picture was left out")
            pictures = []
        content = await asyncio.to_thread(prompt_content, text, Path(tab.cwd), can)
        await self._before_turn(tab)
        return [*content, *pictures]

    def show(self, tab: SessionTab) -> None:
        """Put a tab on the screen."""
        self.save_draft()
        self.current = tab
        tab.has_news = False
        self._main.conversation.show(tab.conversation.blocks)
        self._main.prompt.set_text(tab.draft)
        for what in ("plan", "questions", "queue", "commands", "status"):
            self._on_change(tab, what)

    def add(self, cwd: str | None = None, index: int | None = None) -> SessionTab:
        """Open a tab without a session, with the mode and options of the current one, and show it."""
        tab = self._new(self.current.settings.copy(), cwd, index)
        self.show(tab)
        return tab

    def move(self, tab: SessionTab, cwd: str) -> None:
        """Change the directory, for a session that is about to be opened in the tab."""
        tab.cwd = cwd
        blocks = tab.conversation.blocks
        if blocks and isinstance(blocks[0], Welcome):
            blocks[0] = Welcome(self._agent.display_name, cwd, self._main.keys)
            self._on_change(tab, "block")

    def note_directory(self, tab: SessionTab) -> None:
        """Add a note if the session works in another directory than the screen."""
        if tab.cwd != self._cwd:
            tab.add_note(f"this session works in {tab.cwd}")

    def step(self, step: int) -> None:
        """Show the next or the previous tab."""
        self.show(self[(self.index(self.current) + step) % len(self)])

    def show_at(self, index: int) -> None:
        if 0 <= index < len(self):
            self.show(self[index])

    async def close(self, tab: SessionTab) -> None:
        """Close a tab, unless it is the only one."""
        if len(self) > 1:
            index = self.index(tab)
            self.remove(tab)
            if tab is self.current:
                self.show(self[max(0, index - 1)])
            await self._on_close(tab)

    def save_draft(self) -> None:
        tab = self.current
        tab.draft = self._main.prompt.text
        if tab.session_id is not None:
            self._drafts.save(tab.session_id, tab.draft)
