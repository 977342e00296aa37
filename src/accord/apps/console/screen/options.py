"""Modes and options of the session: Shift+Tab switches the mode, F2 shows all options."""

from __future__ import annotations

from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.screen.status import mode_of
from accord.client.session import Session
from accord.session.entities import Option

_MODE = "\0mode"
"""The entry for the mode, which no option can have as its id."""


class OptionController:
    """Lets the user choose, and applies the choice to the session on the screen."""

    def __init__(self, screen: ScreenContext, agent: ScreenAgent) -> None:
        self._screen = screen
        self._agent = agent

    async def next_mode(self) -> None:
        session = self._open_session()
        if session is None:
            return
        modes = [entry.id for entry in _modes(session)]
        if len(modes) < 2:
            self._screen.tell("The agent has no other mode.")
            return
        current = _current_mode(session)
        index = modes.index(current) + 1 if current in modes else 0
        await self._set_mode(session, modes[index % len(modes)])
        self._agent.on_change()

    async def choose(self) -> None:
        """Show all options, then the values of the chosen one."""
        session = self._open_session()
        if session is None:
            return
        entries = [Entry(each.id, each.name, _value_name(each)) for each in session.options]
        if session.modes is not None and not any(each.category == "mode" for each in session.options):
            entries.insert(0, Entry(_MODE, "Mode", mode_of(self._screen.tab)))
        if not entries:
            self._screen.tell("The agent has no options.")
            return
        choice = entries[0].id if len(entries) == 1 else await self._screen.ask_page(ChoicePage("Options", entries))
        option = next((each for each in session.options if each.id == choice), None)
        if choice == _MODE:
            mode = await self._screen.ask_page(ChoicePage("Mode", _modes(session), current=_current_mode(session)))
            if mode is not None:
                await self._set_mode(session, mode)
        elif option is not None and option.kind == "boolean":
            await self._set_option(session, option, not option.value)
        elif option is not None and option.choices:
            value = await self._screen.ask_page(ChoicePage(option.name, _choices(option), current=str(option.value)))
            if value is not None:
                await self._set_option(session, option, value)
        self._agent.on_change()

    async def _set_mode(self, session: Session, mode_id: str) -> None:
        tab = self._screen.tab
        await session.set_mode(mode_id)
        tab.settings.chose_mode(mode_id)
        await self._agent.retry_settings(tab)

    async def _set_option(self, session: Session, option: Option, value: str | bool) -> None:
        tab = self._screen.tab
        await session.set_option(option.id, value)
        tab.settings.chose_option(option, value)
        await self._agent.retry_settings(tab)

    def _open_session(self) -> Session | None:
        """The session on the screen; notifies the user if there is none."""
        session = self._screen.tab.session
        if not is_agent_ready(self._agent, self._screen):
            return None
        if session is None or session.is_closed:
            self._screen.tell("There is no open session.", "warning")
            return None
        return session


def is_agent_ready(agent: ScreenAgent, screen: ScreenContext) -> bool:
    """Whether requests can be sent; notifies the user if not."""
    if agent.state == "gone":
        screen.tell(f"The agent has ended. {screen.main.keys.hint('restart')} restarts it.", "warning")
    elif agent.state == "starting":
        screen.tell("The agent is still starting.", "warning")
    return agent.state == "ready"


def _modes(session: Session) -> list[Entry]:
    if session.modes is not None:
        return [Entry(mode.id, mode.name, mode.description or "") for mode in session.modes.available]
    option = next((each for each in session.options if each.category == "mode"), None)
    return [] if option is None else _choices(option)


def _current_mode(session: Session) -> str | None:
    if session.modes is not None:
        return session.modes.current
    return next((str(each.value) for each in session.options if each.category == "mode"), None)


def _choices(option: Option) -> list[Entry]:
    return [
        Entry(choice.value, choice.name, "  ".join(filter(None, [choice.group_name, choice.description])))
        for choice in option.choices
    ]


def _value_name(option: Option) -> str:
    if option.kind == "boolean":
        return "on" if option.value else "off"
    return next((choice.name for choice in option.choices if choice.value == option.value), str(option.value or ""))
