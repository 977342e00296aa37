"""Starts the screen, and starts and restarts its agent.

Law: one at a time. A later one ends the one before it, and begins when nothing of that is left.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from accord.apps.console.agent_process import agent_command
from accord.apps.console.line_mode import main as talk_plainly
from accord.apps.console.run.one_prompt import Run
from accord.apps.console.screen import main as open_screen
from accord.apps.console.screen.session import Talk
from accord.apps.console.screen.themes import check_theme
from accord.apps.console.session_choice import NOTHING_EARLIER
from accord.errors import AccordError

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Starting", "main"]


class Starting:
    """Starts the agent of a screen, and opens its sessions; what fails is shown in the talk."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._last: asyncio.Task[Any] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._has_begun = False
        """The agent was there once: which session is meant at first has been asked for."""

    def first(self) -> None:
        """With the session that the user has asked for."""
        self._begin(self._first)

    def again(self) -> None:
        """With the sessions that there are; also while a start never comes to its end."""
        self._begin(self._again)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._last is not None:
            self._last.cancel()
        self._last = self._app.begin(self._alone(work))

    async def _alone(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._one_at_a_time:  # held until what was cancelled has cleaned up after itself
            await work()

    async def _first(self) -> None:
        app, wanted = self._app, self._app.opening.resume
        if not await self._is_started():
            return
        talk, *others = app.talks  # those begun since are opened by whoever began them: the agent is ready
        self._has_begun = True
        if wanted is None and app.opening.continues:
            wanted = await self._last_session(talk)
        elif wanted is not None and (place := await app.agent.sessions.place_of(wanted)):
            app.tabs.move(talk, place)
        if await (app.agent.open(talk) if wanted is None else app.agent.take_up(talk, wanted)):
            app.tabs.say_where(talk)
        for other in others:
            if other in app.talks:
                await app.agent.open(other)

    async def _is_started(self) -> bool:
        agent = self._app.agent
        try:
            await agent.start()
        except (AccordError, OSError, ValueError) as error:
            self._app.talk.fail(agent.failure(error))
            return False
        return True

    async def _last_session(self, talk: Talk) -> str | None:
        app, last = self._app, None
        try:
            last = await app.agent.sessions.last(app.opening.state, app.opening.cwd)
        except AccordError as error:
            talk.fail(app.agent.failure(error, "listing the sessions"))
        if last is None:
            talk.say(NOTHING_EARLIER)
        return last

    async def _again(self) -> None:
        app = self._app
        for talk in app.talks:
            talk.say("starting the agent again")
        if not self._has_begun:
            await self._first()
        elif await self._is_started():
            app.agent.talks += [talk for talk in app.talks if talk not in app.agent.talks]
            await app.agent.open_again()


def main(asked: Run, theme: str | None = None, *, is_plain: bool = False) -> int:
    """The exit status. Where the terminal can do no more, it is as with `is_plain`."""
    known, around = asked.agent, asked.around
    if theme is not None:
        check_theme(theme)
    known.check()
    if is_plain or os.environ.get("TERM") == "dumb":
        return talk_plainly(asked)
    extra = ["--model", asked.model] if known.is_builtin and asked.model else []
    return open_screen(
        agent_command(known, asked.cwd, extra),
        name=known.name,
        known=known,
        title=known.title or known.name,
        cwd=asked.cwd,
        servers=asked.servers,
        resume=asked.session_id,
        continues=asked.continues,
        state=around.state,
        records=around.records,
        theme=theme,
        mode=asked.mode,
        model=None if known.is_builtin else asked.model,
        login=asked.login,
        permissions=asked.permissions,
        start_timeout=asked.start_timeout,
        notices=[] if known.is_builtin else around.notices,
    )
