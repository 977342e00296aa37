"""Logins: the user chooses a method, the agent or a program in the terminal carries it out."""

from __future__ import annotations

from collections.abc import Sequence

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.tty import login_method_text, unsupported_login_advice
from accord.session.capabilities import AuthMethod
from accord.session.value import Unknown


class LoginController:
    """`--login` names the method to use without a question."""

    def __init__(self, screen: ScreenContext) -> None:
        self._screen = screen

    async def choose(self, methods: Sequence[AuthMethod]) -> str | None:
        """Let the user choose a method; explains a method that accord cannot carry out."""
        given = self._screen.options.login
        if given is not None or not methods:
            return given
        entries = [Entry(str(index), login_method_text(method)) for index, method in enumerate(methods)]
        choice = await self._screen.ask_page(ChoicePage("The agent requires a login", entries))
        if choice is None:
            return None
        method = methods[int(choice)]
        if isinstance(method, Unknown):
            self._screen.tab.add_note(unsupported_login_advice(method))
            return None
        return method.id

    async def log_in(self, agent: ScreenAgent) -> None:
        """`/login`, whether the agent requires it or not."""
        if agent.state != "ready":
            self._screen.tell(f"No agent is running; {self._screen.main.keys.hint('restart')} starts it.", "warning")
        elif not agent.client.agent.auth_methods:
            self._screen.tell("This agent has no login methods.", "warning")
        elif await agent.log_in():
            self._screen.tell("Logged in.")
