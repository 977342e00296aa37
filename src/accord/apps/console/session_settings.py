"""The mode, model and options that a conversation is held in, whichever session it is held in.

Law: what was chosen, by the user or by the agent at a command of the user's, holds until something else is chosen. Where no mode
was chosen, a restart or a login does not change the one that a session is in. A
session that is opened for the conversation is put into it before anything is sent there; where the agent does not do
that, whoever opened it is told by an exception, and sends nothing.
"""

from __future__ import annotations

from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.sanitizer import one_line
from accord.apps.console.session_choice import choose_mode, choose_model, choose_option, current_mode
from accord.client.session import Session
from accord.errors import AccordError, ConnectionClosed
from accord.session.entities import Option


class SessionSettings:
    """What was chosen for one conversation; at first what the command line says, by the names that users give."""

    def __init__(self, mode: str | None = None, model: str | None = None) -> None:
        self._mode = mode
        self._model = model
        self._options: dict[str, str | bool] = {}
        self._session: Session | None = None
        """The one in which everything is as it was chosen, and the values that it began with."""
        self._began_in: str | None = None
        self._began_with: dict[str, str | bool | None] = {}
        self._mode_unchosen: str | None = None
        """The one that the session was in by itself: it stays in force there, and counts for no other conversation."""
        self._is_in_doubt = False
        """Whether the agent may have lost what it had told, without a word."""

    def copy(self) -> SessionSettings:
        """The same for another conversation, as it is now."""
        self._note_changes()
        copied = SessionSettings(self._mode, self._model)
        copied._options = dict(self._options)
        return copied

    def chose_mode(self, mode_id: str) -> None:
        """The user wants this one."""
        self._mode = mode_id

    def chose_option(self, option: Option, value: str | bool) -> None:
        """The user wants this value."""
        if _is_mode(option):
            self._mode = str(value)
            return
        if "model" in (option.category, option.id):
            self._model = None
        self._options[option.id] = value

    def take_what_there_is(self, session: Session) -> None:
        """The user goes on with what the agent has made of it."""
        self._mode = self._model = self._mode_unchosen = None
        self._options.clear()
        self._begin(session)

    def hold(self) -> None:
        """What the agent changes from now on, until it is restored, was not chosen, and need not be told: it is at a login."""
        self._note_changes()
        self._mode_unchosen = self._mode_unchosen or self._began_in
        self._session = None
        self._is_in_doubt = True

    async def restore(self, session: Session) -> None:
        """Put all that was chosen in force there. All of it is tried, the mode last; then the first failure is raised."""
        self._note_changes()
        if self._session is not None:
            self._mode_unchosen = self._began_in if self._session.id == session.id else None
        self._session = None
        failures: list[AccordError] = []
        for put in (self._put_model, self._put_options, self._put_mode):
            try:
                await put(session)
            except ConnectionClosed:
                raise
            except AccordError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        self._is_in_doubt = False
        await self._put_options(session)  # a mode may have brought values of its own with it
        await self._put_mode(session)
        self._check(session)
        self._begin(session)

    async def _put_model(self, session: Session) -> None:
        if self._model is not None:
            option = await choose_model(session, self._model, anew=self._is_in_doubt)
            self.chose_option(option, option.value or "")

    async def _put_options(self, session: Session) -> None:
        for option_id, value in self._options.items():
            await choose_option(session, option_id, value, anew=self._is_in_doubt)

    async def _put_mode(self, session: Session) -> None:
        if self._mode is not None:
            self._mode = await choose_mode(session, self._mode, anew=self._is_in_doubt)
        elif self._mode_unchosen is not None:
            await choose_mode(session, self._mode_unchosen, anew=self._is_in_doubt)

    def _check(self, session: Session) -> None:
        now = {option.id: option.value for option in session.options}
        for option_id, value in self._options.items():
            if now.get(option_id) != value:
                what = f"{one_line(str(value), 80)!r} for the option {one_line(option_id, 80)!r}"
                raise ConsoleFailed(f"the agent does not keep {what} in the mode {current_mode(session)!r}")

    def _begin(self, session: Session) -> None:
        self._session, self._began_in, self._mode_unchosen = session, current_mode(session), None
        self._began_with = {option.id: option.value for option in session.options}

    def _note_changes(self) -> None:
        """Whatever is not as the session began has been chosen there."""
        session = self._session
        if session is None:
            return
        mode = current_mode(session)
        if mode is not None and mode != self._began_in:
            self._mode = self._began_in = mode
        for option in session.options:
            if not _is_mode(option) and option.value is not None and option.value != self._began_with.get(option.id):
                self._began_with[option.id] = option.value
                self.chose_option(option, option.value)


def _is_mode(option: Option) -> bool:
    return "mode" in (option.category, option.id)
