"""Converts the opening of sessions, prompts, options and slash commands of the draft."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.options import CommandConverter, option_members, set_option_from_wire
from accord.dialects.all_versions.sessions import PromptConverter, tokens_from_wire, tokens_to_wire
from accord.dialects.dialect import Dialect, RequestConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.dialects.v1.modes_and_options import select_choices
from accord.dialects.v1.sessions import SESSIONS, SetupConverter
from accord.dialects.v1.tables import REQUESTS as REQUESTS_OF_V1
from accord.dialects.v2.options import OPTIONS
from accord.dialects.v2.sessions import set_option_to_wire
from accord.dialects.v2_draft.tool_calls import CONTENT, DraftDialect
from accord.errors import InvalidParams
from accord.schema import v2_draft as wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import Option
from accord.session.requests import (
    AcpRequest,
    ForkSession,
    LoadSession,
    NewSession,
    Prompt,
    PromptResult,
    ResumeSession,
    SetOption,
)

COMMANDS = CommandConverter(
    partial(wire.AvailableCommand, type="command"),
    partial(wire.AvailableCommandInput, type="text"),
    wire.AvailableCommandsUpdate,
)


def options_to_wire(dialect: Dialect, options: Iterable[Option]) -> list[wire.SessionConfigOption]:
    """The options, including those of unknown types."""
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


def _prompt_result_to_wire(dialect: Dialect, request: Prompt, result: PromptResult) -> wire.PromptResponse:
    """The stop reason, and the message's id for clients that look for it."""
    return wire.PromptResponse(
        stop_reason=result.stop_reason or "end_turn",
        message_id=unset_if_none(result.message_id),
        usage=tokens_to_wire(result.token_usage),
        meta=unset_if_none(result.meta),
    )


def _prompt_result_from_wire(dialect: DraftDialect, request: Prompt, response: wire.PromptResponse) -> PromptResult:
    """Without a stop reason the agent speaks v2 after all, and a state update will end the turn."""
    message_id = none_if_unset(response.message_id)
    if message_id is not None:
        dialect.null_clears = True
    return PromptResult(
        stop_reason=none_if_unset(response.stop_reason),
        message_id=message_id,
        token_usage=tokens_from_wire(response.usage),
        meta=none_if_unset(response.meta),
    )


def _set_option_from_wire(dialect: Dialect, params: wire.SetSessionConfigOptionRequest) -> SetOption:
    """A value of an unknown type may be a string, as in v1."""
    if not isinstance(params.value, str | bool):
        raise InvalidParams("this agent has no options of this type", field="type")
    return set_option_from_wire(dialect, params)


_SETUP = SetupConverter(options_to_wire, OPTIONS, wire.SetSessionConfigOptionResponse)
_PROMPTS = PromptConverter(wire.PromptRequest, CONTENT)


def _as_v1(request_type: type[AcpRequest], **functions: Any) -> RequestConverter:
    return replace(REQUESTS_OF_V1[request_type], **functions)


def _opens(request_type: type[AcpRequest], response: type[Any], **functions: Any) -> RequestConverter:
    to_wire, from_wire = _SETUP.to_wire(response), _SETUP.from_wire
    return _as_v1(request_type, result_to_wire=to_wire, result_from_wire=from_wire, **functions)


SESSION_REQUESTS = (
    _opens(NewSession, wire.NewSessionResponse),
    _opens(LoadSession, wire.LoadSessionResponse),
    _opens(ResumeSession, wire.ResumeSessionResponse, from_wire=SESSIONS.resume_from_wire),
    _opens(ForkSession, wire.ForkSessionResponse),
    _as_v1(
        Prompt,
        to_wire=_PROMPTS.to_wire,
        from_wire=_PROMPTS.from_wire,
        result_to_wire=_prompt_result_to_wire,
        result_from_wire=_prompt_result_from_wire,
    ),
    _as_v1(
        SetOption,
        to_wire=set_option_to_wire(wire.SetSessionConfigOptionRequest),
        from_wire=_set_option_from_wire,
        result_to_wire=_SETUP.set_option_result_to_wire,
        result_from_wire=_SETUP.from_wire,
    ),
)
