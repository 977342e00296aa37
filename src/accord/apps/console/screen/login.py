"""Logging in at an agent: which way, and what the user has to do for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.tty import advice_for, described
from accord.client.target import Command
from accord.session.capabilities import AuthMethod
from accord.session.value import Unknown

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["LoggingIn"]


class LoggingIn:
    """The logins of a screen's agent."""

    def __init__(self, app: Console) -> None:
        self._app = app

    async def choose(self, methods: Sequence[AuthMethod]) -> str | None:
        """The id of one that accord can do; of the others the user is told what they take."""
        app = self._app
        if app.opening.login is not None:
            return app.opening.login
        if not methods:
            return None
        entries = [Entry(str(place), described(method)) for place, method in enumerate(methods)]
        chosen = await app.ask_page(ChoicePage("The agent wants you to log in", entries))
        if chosen is None:
            return None
        method = methods[int(chosen)]
        if isinstance(method, Unknown):
            app.talk.say(advice_for(method))
            return None
        return method.id

    async def run(self, command: Command) -> int:
        """A login in the terminal."""
        return await self._app.handing_over.run(command)

    async def again(self) -> None:
        """`/login`: as the user wishes, whether the agent asks for it or not."""
        app = self._app
        if app.agent.state != "ready":
            app.tell("There is no agent to log in at; F5 starts it.", "warning")
            return
        if not app.agent.client.agent.auth_methods:
            app.tell("This agent offers no way to log in.", "warning")
            return
        if await app.agent.login():
            app.tell("You are logged in.")
