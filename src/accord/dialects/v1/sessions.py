"""Sessions, prompts and choices, between v1 and words."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect
from accord.dialects.prompts import PromptMapping
from accord.dialects.sessions import SessionMapping
from accord.dialects.v1.content import CONTENT, note_icons
from accord.dialects.v1.mcp_servers import servers_from_wire, servers_to_wire
from accord.dialects.v1.opening import OpeningMapping
from accord.dialects.v1.options import options_from_wire, options_to_wire
from accord.schema import v1 as wire
from accord.schema.values import UNSET
from accord.session.requests import Prompt, PromptAnswer, SetOption

__all__ = [
    "OPENING",
    "PROMPTS",
    "SESSIONS",
    "prompt_answer_from_wire",
    "prompt_answer_to_wire",
    "prompt_to_wire",
    "set_option_to_wire",
]

SESSIONS = SessionMapping(wire, servers_to_wire, servers_from_wire)
OPENING = OpeningMapping(options_to_wire, options_from_wire, wire.SetSessionConfigOptionResponse)
PROMPTS = PromptMapping(wire.PromptRequest, CONTENT)
STOP_REASONS = frozenset(("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"))


def prompt_to_wire(dialect: Dialect, asked: Prompt) -> Any:
    note_icons(dialect, asked.content)
    return PROMPTS.to_wire(dialect, asked)


def prompt_answer_to_wire(dialect: Dialect, asked: Prompt, answer: PromptAnswer) -> wire.PromptResponse:
    reason = answer.stop_reason or "end_turn"
    meta = answer.meta
    if reason not in STOP_REASONS:
        dialect.lose("stop-reason", asked.session_id)
        meta = {**(meta or {}), "accord/stopReason": reason}
        reason = "end_turn"
    return wire.PromptResponse(stop_reason=reason, meta=told(meta))


def prompt_answer_from_wire(dialect: Dialect, asked: Prompt, result: wire.PromptResponse) -> PromptAnswer:
    return PromptAnswer(stop_reason=result.stop_reason, meta=known(result.meta))


def set_option_to_wire(dialect: Dialect, asked: SetOption) -> wire.SetSessionConfigOptionRequest:
    return wire.SetSessionConfigOptionRequest(
        session_id=asked.session_id,
        config_id=asked.option_id,
        value=asked.value,
        type="boolean" if isinstance(asked.value, bool) else UNSET,
        meta=told(asked.meta),
    )
