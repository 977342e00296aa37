"""What a session opens with in v1 and the draft: modes, options and, in the answers of newer peers, commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.commands import commands_from_wire
from accord.dialects.dialect import AnswerFunction, Dialect
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.modes import modes_from_wire, modes_shown, modes_to_wire
from accord.schema.values import UNSET
from accord.session.entities import Option
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
                modes=modes_to_wire(modes_shown(dialect, session_id, answer)),
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
            modes=modes_from_wire(getattr(result, "modes", UNSET)),
            options=UNSET if options is None else self._options_from_wire(dialect, options),
            commands=UNSET if commands is None else commands_from_wire(dialect, commands),
            models=getattr(result, "models", UNSET),
            meta=known(result.meta),
        )

    def options_set_to_wire(self, dialect: Dialect, asked: SetOption, answer: SessionOpened) -> Any:
        """All options, after one was set."""
        options = [] if answer.options is UNSET else answer.options
        return self._options_set(config_options=self._options_to_wire(dialect, options), meta=told(answer.meta))
