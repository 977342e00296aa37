"""Maps sessions, prompts, options and slash commands between the v2 draft and the session model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from accord.dialects.all_versions.options import CommandConverter, option_members
from accord.dialects.all_versions.options import set_option_from_wire as value_from_wire
from accord.dialects.all_versions.sessions import PromptConverter, tokens_from_wire, tokens_to_wire
from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v1.modes_and_options import select_choices
from accord.dialects.v1.sessions import SetupConverter
from accord.dialects.v2.options import options_from_wire
from accord.dialects.v2_draft.tool_calls import CONTENT, DraftDialect
from accord.errors import InvalidParams
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Option
from accord.session.requests import Prompt, PromptResult, SetOption

__all__ = [
    "COMMANDS",
    "OPENING",
    "PROMPTS",
    "options_to_wire",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "set_option_from_wire",
]

COMMANDS = CommandConverter(
    partial(wire.AvailableCommand, type="command"),
    partial(wire.AvailableCommandInput, type="text"),
    wire.AvailableCommandsUpdate,
)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options, those of unknown types too."""
    return [_option_to_wire(dialect, option) for option in options]


def _option_to_wire(dialect: Dialect, option: Option) -> wire.SessionConfigOption:
    if option.raw is not None:
        return UnknownOnWire(option.kind, {"id": option.id, "configId": option.id, **option.raw})
    members = option_members(option)
    if option.kind == "boolean":
        return wire.SessionConfigBoolean(id=option.id, current_value=bool(option.value), **members)
    value = option.value if isinstance(option.value, str) else ""
    choices = select_choices(dialect, option, wire.SessionConfigSelectChoice)
    return wire.SessionConfigSelect(id=option.id, current_value=value, options=choices, **members)


OPENING = SetupConverter(options_to_wire, options_from_wire, wire.SetSessionConfigOptionResponse)
PROMPTS = PromptConverter(wire.PromptRequest, CONTENT)


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptResult) -> wire.PromptResponse:
    """The end of the turn, and the message's id for whoever looks for it."""
    return wire.PromptResponse(
        stop_reason=answer.stop_reason or "end_turn",
        message_id=unset_if_none(answer.message_id),
        usage=tokens_to_wire(v2, answer.token_usage),
        meta=unset_if_none(answer.meta),
    )


def prompt_answer_from_wire(dialect: DraftDialect, asked: Prompt, result: wire.PromptResponse) -> PromptResult:
    """The end of the turn. Without a stop reason the agent speaks v2 after all, and a state report will tell the end."""
    message_id = none_if_unset(result.message_id)
    if message_id is not None:
        dialect.null_clears = True
    return PromptResult(
        stop_reason=none_if_unset(result.stop_reason),
        message_id=message_id,
        token_usage=tokens_from_wire(result.usage),
        meta=none_if_unset(result.meta),
    )


def set_option_from_wire(dialect: Dialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """The choice; of an unknown type it may be a string, as in v1."""
    if not isinstance(params.value, str | bool):
        raise InvalidParams("this agent has no options of this type", field="type")
    return value_from_wire(dialect, params)
