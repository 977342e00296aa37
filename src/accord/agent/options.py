"""The options of a session, modes and models among them: what it begins with, and what happens when the user chooses."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from accord.agent.definition import AgentDefinition, call_handler
from accord.agent.session import AgentSession
from accord.dialects.all_versions.options import model_option
from accord.errors import InvalidParams, MethodNotFound
from accord.session.entities import Option
from accord.session.requests import SetMode, SetModel, SetOption

__all__ = ["choose", "offered_options"]


def offered_options(definition: AgentDefinition, session: AgentSession) -> list[Option]:
    """The options there are, with the values that were chosen before and still exist."""
    chosen = session.options
    return [
        replace(option, value=chosen[option.id]) if _has_value(option, chosen.get(option.id)) else option
        for option in (offered.option for offered in definition.options.values())
    ]


async def choose(definition: AgentDefinition, session: AgentSession, asked: SetOption | SetMode | SetModel) -> None:
    """Set the option, mode or model that a client asks for; the author's handler may refuse."""
    match asked:
        case SetOption():
            option, fields = session.option(asked.option_id), ("configId", "value")
            await _set(definition, session, option, asked.value, fields)
        case SetMode():
            modes = (option for option in session.transcript.options if option.category == "mode")
            await _set(definition, session, next(modes, None), asked.mode_id, ("modeId", "modeId"))
        case SetModel():
            option = model_option(session.transcript.options)
            if option is None:
                raise MethodNotFound("session/set_model")
            await _set(definition, session, option, asked.model_id, ("modelId", "modelId"))


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
        raise InvalidParams("there is no such option", field=option_field)
    if not _has_value(option, value):
        raise InvalidParams("the option does not have this value", field=value_field)
    offered = definition.options.get(option.id)
    if offered is not None and offered.handler is not None:
        await call_handler(offered.handler, session, value)
    current = session.transcript.options
    await session.set_options([replace(each, value=value) if each.id == option.id else each for each in current])
    await session.commit()


def _has_value(option: Option, value: Any) -> bool:
    if option.kind == "boolean":
        return isinstance(value, bool)
    return value in [choice.value for choice in option.choices]
