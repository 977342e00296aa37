"""Sessions, prompts and choices between the draft and words, where they differ from v1's."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.options import modes_from_wire, modes_to_wire
from accord.dialects.v1.sessions import modes_shown, stored_from_wire
from accord.dialects.v2_draft.content import CONTENT
from accord.dialects.v2_draft.options import commands_from_wire, options_from_wire, options_to_wire
from accord.errors import InvalidParams
from accord.schema import v2_draft as wire
from accord.schema.values import UNSET
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import (
    Asked,
    LoadSession,
    Prompt,
    PromptAnswer,
    ResumeSession,
    SessionOpened,
    SetOption,
)

__all__ = [
    "opened_from_wire",
    "opened_to_wire",
    "options_answer_to_wire",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "prompt_to_wire",
    "set_option_from_wire",
    "set_option_to_wire",
    "taken_up_from_wire",
]


def opened_to_wire(result: type[Any], with_id: bool = False) -> Any:
    """The documents leave sessions as in v1: clients cannot be expected to look for commands here."""

    def to_wire(dialect: ShowingDialect, asked: Any, answer: SessionOpened) -> Any:
        fields: dict[str, Any] = {"session_id": answer.session_id} if with_id else {}
        session_id = fields["session_id"] if with_id else asked.session_id
        modes = modes_shown(dialect, session_id, answer)
        if answer.commands:
            dialect.lose("opened-commands", session_id)
        return result(
            modes=modes_to_wire(modes),
            config_options=UNSET if answer.options is UNSET else options_to_wire(dialect, answer.options),
            models=answer.models,
            meta=told(answer.meta),
            **fields,
        )

    return to_wire


def opened_from_wire(dialect: ShowingDialect, asked: Asked, result: Any) -> SessionOpened:
    options = known(result.config_options)
    commands = known(getattr(result, "available_commands", UNSET))
    return SessionOpened(
        session_id=getattr(result, "session_id", UNSET),
        modes=modes_from_wire(getattr(result, "modes", UNSET)),
        options=UNSET if options is None else options_from_wire(dialect, options),
        commands=UNSET if commands is None else commands_from_wire(commands),
        models=getattr(result, "models", UNSET),
        meta=known(result.meta),
    )


def taken_up_from_wire(dialect: ShowingDialect, params: wire.ResumeSessionRequest) -> LoadSession | ResumeSession:
    """Resume is also load, if a peer asks as in v2 to be told from the start; InvalidParams for another beginning."""
    beginning = known(params.replay_from)
    if isinstance(beginning, UnknownOnWire):
        raise InvalidParams("this agent cannot begin there", field="replayFrom.type")
    return stored_from_wire(ResumeSession if beginning is None else LoadSession)(dialect, params)


def prompt_to_wire(dialect: ShowingDialect, asked: Prompt) -> wire.PromptRequest:
    return wire.PromptRequest(
        session_id=asked.session_id, prompt=CONTENT.all_to_wire(asked.content), meta=told(asked.meta)
    )


def prompt_answer_to_wire(dialect: ShowingDialect, asked: Any, answer: PromptAnswer) -> wire.PromptResponse:
    """The end of the turn, and the message's id for whoever looks for it."""
    return wire.PromptResponse(
        stop_reason=answer.stop_reason or "end_turn", message_id=told(answer.message_id), meta=told(answer.meta)
    )


def prompt_answer_from_wire(dialect: Any, asked: Any, result: wire.PromptResponse) -> PromptAnswer:
    """The end of the turn. Without a stop reason the agent speaks v2 after all, and a state report will tell the end."""
    message_id = known(result.message_id)
    if message_id is not None:
        dialect.null_clears = True
    return PromptAnswer(stop_reason=known(result.stop_reason), message_id=message_id, meta=known(result.meta))


def set_option_to_wire(dialect: ShowingDialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        type="boolean" if isinstance(asked.value, bool) else "id",
        value=asked.value,
        meta=told(asked.meta),
    )


def set_option_from_wire(dialect: ShowingDialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """The choice; of an unknown type it may be a string, as in v1."""
    if not isinstance(params.value, str | bool):
        raise InvalidParams("this agent has no options of this type", field="type")
    return SetOption(
        session_id=params.session_id, option_id=params.config_id, value=params.value, meta=known(params.meta)
    )


def options_answer_to_wire(dialect: ShowingDialect, asked: Any, answer: SessionOpened) -> Any:
    options = [] if answer.options is UNSET else answer.options
    return wire.SetSessionConfigOptionResponse(config_options=options_to_wire(dialect, options), meta=told(answer.meta))
