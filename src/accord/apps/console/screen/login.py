"""Logins: the user chooses a method, the agent or a program in the terminal carries it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.background_tasks import Notify
from accord.apps.console.screen.pages.choice_page import AskPage, ChoicePage, Entry
from accord.apps.console.screen.session import SessionTab
from accord.apps.console.tty import login_method_text, unsupported_login_advice
from accord.session.capabilities import AuthMethod
from accord.session.value import Unknown

__all__ = ["LoginController"]


class LoginController:
    """`method` is the method given with `--login`; `current` gives the tab on the screen."""

    def __init__(
        self, method: str | None, agent: ScreenAgent, *, ask: AskPage, current: Callable[[], SessionTab], notify: Notify
    ) -> None:
        self._method = method
        self._agent = agent
        self._ask = ask
        self._current = current
        self._notify = notify

    async def choose(self, methods: Sequence[AuthMethod]) -> str | None:
        """Let the user choose a method; explains a method that accord cannot carry out."""
        if self._method is not None or not methods:
            return self._method
        entries = [Entry(str(index), login_method_text(method)) for index, method in enumerate(methods)]
        choice = await self._ask(ChoicePage("The agent requires a login", entries))
        if choice is None:
            return None
        method = methods[int(choice)]
        if isinstance(method, Unknown):
            self._current().add_note(unsupported_login_advice(method))
            return None
        return method.id

    async def log_in(self) -> None:
        """`/login`, whether the agent requires it or not."""
        if self._agent.state != "ready":
            self._notify("No agent is running; F5 starts it.", "warning")
        elif not self._agent.client.agent.auth_methods:
            self._notify("This agent has no login methods.", "warning")
        elif await self._agent.log_in():
            self._notify("Logged in.")
