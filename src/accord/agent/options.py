"""The options of a session, with modes and models: their initial values, and changing them on a client's request."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from accord.agent.definition import AgentDefinition, call_handler
from accord.agent.session import AgentSession
from accord.dialects.all_versions.options import model_option
from accord.errors import InvalidParams, MethodNotFound
from accord.session.entities import Option
from accord.session.requests import SetMode, SetModel, SetOption


def initial_options(definition: AgentDefinition, session: AgentSession) -> list[Option]:
    """The agent's options, with the values of before where they still exist."""
    values = session.options
    return [
        replace(option, value=values[option.id]) if _has_value(option, values.get(option.id)) else option
        for option in (each.option for each in definition.options.values())
    ]


async def set_option(
    definition: AgentDefinition, session: AgentSession, request: SetOption | SetMode | SetModel
) -> None:
    """Set the option, mode or model of a client's request; the author's handler may refuse."""
    match request:
        case SetOption():
            option, fields = session.option(request.option_id), ("configId", "value")
            await _set(definition, session, option, request.value, fields)
        case SetMode():
            modes = (option for option in session.transcript.options if option.category == "mode")
            await _set(definition, session, next(modes, None), request.mode_id, ("modeId", "modeId"))
        case SetModel():
            option = model_option(session.transcript.options)
            if option is None:
                raise MethodNotFound("session/set_model")
            await _set(definition, session, option, request.model_id, ("modelId", "modelId"))


async def _set(
    definition: AgentDefinition,
    session: AgentSession,
    option: Option | None,
    value: str | bool,
    fields: tuple[str, str],
) -> None:
    """`fields` are the members of the request that name the option and its value."""
    option_field, value_field = fields
    if option is None:
        raise InvalidParams("unknown option", field=option_field)
    if not _has_value(option, value):
        raise InvalidParams("the option does not have this value", field=value_field)
    own = definition.options.get(option.id)
    if own is not None and own.handler is not None:
        await call_handler(own.handler, session, value)
    current = session.transcript.options
    await session.set_options([replace(each, value=value) if each.id == option.id else each for each in current])


def _has_value(option: Option, value: Any) -> bool:
    if option.kind == "boolean":
        return isinstance(value, bool)
    return value in [choice.value for choice in option.choices]
