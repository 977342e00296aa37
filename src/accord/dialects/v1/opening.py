"""What a session opens with in v1 and the draft: modes, options and, in the answers of newer peers, commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.commands import commands_from_wire
from accord.dialects.dialect import AnswerFunction, Dialect
from accord.dialects.options import mode_option
from accord.dialects.shown import ShowingDialect
from accord.schema import v1 as wire
from accord.schema.values import UNSET, UnsetType
from accord.session.entities import Mode, Modes, Option
from accord.session.requests import Asked, SessionOpened, SetOption

__all__ = ["OpeningMapping"]


class OpeningMapping:
    """Bound to how one version spells options."""

    def __init__(
        self,
        options_to_wire: Callable[[Dialect, Iterable[Option]], list[Any]],
        options_from_wire: Callable[[Dialect, Iterable[Any]], list[Option]],
        options_set: type[Any],
    ) -> None:
        self._options_to_wire = options_to_wire
        self._options_from_wire = options_from_wire
        self._options_set = options_set

    def to_wire(self, result: type[Any]) -> AnswerFunction:
        """For a result that may name a new session. Clients need not look for commands in it: those are left to updates."""
        names_session = "session_id" in result.__struct_fields__

        def opened_to_wire(dialect: ShowingDialect, asked: Any, answer: SessionOpened) -> Any:
            named: dict[str, Any] = {"session_id": answer.session_id} if names_session else {}
            session_id = named["session_id"] if names_session else asked.session_id
            if answer.commands:
                dialect.lose("opened-commands", session_id)
            return result(
                modes=_modes_to_wire(_modes_shown(dialect, session_id, answer)),
                config_options=UNSET if answer.options is UNSET else self._options_to_wire(dialect, answer.options),
                models=answer.models,
                meta=told(answer.meta),
                **named,
            )

        return opened_to_wire

    def from_wire(self, dialect: Dialect, asked: Asked, result: Any) -> SessionOpened:
        options = known(result.config_options)
        commands = known(getattr(result, "available_commands", UNSET))
        return SessionOpened(
            session_id=getattr(result, "session_id", UNSET),
            modes=_modes_from_wire(getattr(result, "modes", UNSET)),
            options=UNSET if options is None else self._options_from_wire(dialect, options),
            commands=UNSET if commands is None else commands_from_wire(dialect, commands),
            models=getattr(result, "models", UNSET),
            meta=known(result.meta),
        )

    def options_set_to_wire(self, dialect: Dialect, asked: SetOption, answer: SessionOpened) -> Any:
        """All options, after one was set."""
        options = [] if answer.options is UNSET else answer.options
        return self._options_set(config_options=self._options_to_wire(dialect, options), meta=told(answer.meta))


def _modes_shown(dialect: ShowingDialect, session_id: str, answer: SessionOpened) -> Modes | None:
    """The modes to open a session with, made from the mode option if need be; they are kept in step from here on."""
    shown = dialect.shown(session_id)
    modes = answer.modes
    if answer.options is not UNSET:
        shown.options = answer.options
        modes = modes or _modes_of(answer.options)
    if modes is not None:
        shown.mode = modes.current
    return modes


def _modes_of(options: Iterable[Option]) -> Modes | None:
    option = mode_option(options)
    if option is None:
        return None
    available = [Mode(id=each.value, name=each.name, description=each.description) for each in option.choices]
    return Modes(current=str(option.value), available=available)


def _modes_to_wire(modes: Modes | None) -> wire.SessionModeState | UnsetType:
    if modes is None:
        return UNSET
    available = [
        wire.SessionMode(id=mode.id, name=mode.name, description=told(mode.description), meta=told(mode.meta))
        for mode in modes.available
    ]
    return wire.SessionModeState(current_mode_id=modes.current, available_modes=available, meta=told(modes.meta))


def _modes_from_wire(state: wire.SessionModeState | None | UnsetType) -> Modes | None:
    said = known(state)
    if said is None:
        return None
    available = [
        Mode(id=mode.id, name=mode.name, description=known(mode.description), meta=known(mode.meta))
        for mode in said.available_modes
    ]
    return Modes(current=said.current_mode_id, available=available, meta=known(said.meta))
