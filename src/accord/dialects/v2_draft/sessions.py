"""Sessions, prompts and choices between the draft and words, where they differ from v1's."""

from __future__ import annotations

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.dialects.options import set_option_from_wire as value_from_wire
from accord.dialects.sessions import PromptMapping, tokens_from_wire, tokens_to_wire
from accord.dialects.v1.opening import OpeningMapping
from accord.dialects.v2.options import options_from_wire
from accord.dialects.v2_draft.clearing import ClearingDialect
from accord.dialects.v2_draft.content import CONTENT
from accord.dialects.v2_draft.options import options_to_wire
from accord.errors import InvalidParams
from accord.schema import v2
from accord.schema import v2_draft as wire
from accord.session.requests import Prompt, PromptAnswer, SetOption

__all__ = ["OPENING", "PROMPTS", "prompt_answer_from_wire", "prompt_answer_to_wire", "set_option_from_wire"]

OPENING = OpeningMapping(options_to_wire, options_from_wire, wire.SetSessionConfigOptionResponse)
PROMPTS = PromptMapping(wire.PromptRequest, CONTENT)


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptAnswer) -> wire.PromptResponse:
    """The end of the turn, and the message's id for whoever looks for it."""
    return wire.PromptResponse(
        stop_reason=answer.stop_reason or "end_turn",
        message_id=told(answer.message_id),
        usage=tokens_to_wire(v2, answer.token_usage),
        meta=told(answer.meta),
    )


def prompt_answer_from_wire(dialect: ClearingDialect, asked: Prompt, result: wire.PromptResponse) -> PromptAnswer:
    """The end of the turn. Without a stop reason the agent speaks v2 after all, and a state report will tell the end."""
    message_id = known(result.message_id)
    if message_id is not None:
        dialect.null_clears = True
    return PromptAnswer(
        stop_reason=known(result.stop_reason),
        message_id=message_id,
        token_usage=tokens_from_wire(result.usage),
        meta=known(result.meta),
    )


def set_option_from_wire(dialect: Dialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """The choice; of an unknown type it may be a string, as in v1."""
    if not isinstance(params.value, str | bool):
        raise InvalidParams("this agent has no options of this type", field="type")
    return value_from_wire(dialect, params)
