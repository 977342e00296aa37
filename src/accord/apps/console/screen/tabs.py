"""The talks that are open, one of them on the screen. Law: there is always one, and what was written in each stays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from accord.apps.console.screen.blocks.welcome import Welcome
from accord.apps.console.screen.mentions import content_of
from accord.apps.console.screen.session import Talk
from accord.apps.console.session_settings import SessionSettings
from accord.session.content import Content

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Tabs"]


class Tabs:
    """The tabs of a screen."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self.talks: list[Talk] = []
        self.current = self._new()

    def _new(self, cwd: str | None = None) -> Talk:
        app = self._app
        # A new one is held in what the one on the screen is held in.
        is_first = not self.talks
        settings = SessionSettings(app.opening.mode, app.opening.model) if is_first else self.current.settings.copy()
        talk = Talk(cwd or str(app.opening.cwd), app.talk_changed, self._compose, self._sent, settings)
        talk.story.blocks.append(Welcome(app.agent.shown_name, talk.cwd))
        self.talks.append(talk)
        return talk

    def _sent(self, talk: Talk, text: str) -> None:
        self._app.prompting.keep(talk, text)

    async def _compose(self, talk: Talk, text: str) -> list[Content]:
        can, pictures = self._app.agent.client.agent.capabilities, self._app.pictures.named_in(text)
        if pictures and not can.image:
            talk.say("this agent takes no pictures: what you pasted was left out")
        cwd, sent = Path(talk.cwd), pictures if can.image else []
        return await asyncio.to_thread(lambda: [*content_of(text, cwd, can), *(picture.block() for picture in sent)])

    def show(self, talk: Talk) -> None:
        """Put this one on the screen."""
        app = self._app
        self.keep_draft()
        self.current = talk
        talk.has_news = False
        app.conversation.show(talk.story.blocks)
        app.prompt.take(talk.draft)
        for what in ("plan", "questions", "queue", "commands", "status"):
            app.talk_changed(talk, what, None)

    def add(self, cwd: str | None = None) -> Talk:
        """A new one, on the screen, without a session yet; its directory is ours, if it has none of its own."""
        talk = self._new(cwd)
        self.show(talk)
        return talk

    def move(self, talk: Talk, cwd: str) -> None:
        """To the directory of the session that is to be taken up in it."""
        talk.cwd = cwd
        blocks = talk.story.blocks
        if blocks and isinstance(blocks[0], Welcome):
            blocks[0] = Welcome(self._app.agent.shown_name, cwd)
            self._app.talk_changed(talk, "block", None)

    def say_where(self, talk: Talk) -> None:
        """If it is not where the screen was opened."""
        if talk.cwd != str(self._app.opening.cwd):
            talk.say(f"this session works in {talk.cwd}")

    def go(self, step: int) -> None:
        """To the next one, or the one before."""
        self.show(self.talks[(self.talks.index(self.current) + step) % len(self.talks)])

    def go_to(self, place: int) -> None:
        if 0 <= place < len(self.talks):
            self.show(self.talks[place])

    async def close(self, talk: Talk) -> None:
        """The last one cannot be closed."""
        if len(self.talks) > 1:
            place = self.talks.index(talk)
            self.talks.remove(talk)
            if talk is self.current:
                self.show(self.talks[max(0, place - 1)])
            self._app.showing.tabs()
            self._app.showing.window_title()
            self._app.prompting.keep_waiting(talk)
            await self._app.shell.stop(talk)
            await self._app.agent.leave(talk)

    def keep_draft(self) -> None:
        talk = self.current
        talk.draft = self._app.prompt.text
        if talk.session_id is not None:
            self._app.drafts.keep(talk.session_id, talk.draft)
