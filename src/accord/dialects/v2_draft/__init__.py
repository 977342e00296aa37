"""The v2 draft: what is read is v1, the early draft and what v2 made of it; what is asked is v1, what is told the draft.

Several agents repeat whatever version they are offered and speak v1. So as long as a peer has not sent a form that v1
does not have, null in a tool call update changes nothing, as in v1; from then on it clears.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from accord.dialects.dialect import RequestConverter
from accord.dialects.v1 import EXCHANGES as EXCHANGES_OF_V1
from accord.dialects.v1 import TELLINGS
from accord.dialects.v1.sessions import SESSIONS
from accord.dialects.v2 import EXCHANGES as EXCHANGES_OF_V2
from accord.dialects.v2.requests_to_client import PERMISSIONS
from accord.dialects.v2.sessions import set_option_to_wire
from accord.dialects.v2_draft import lifecycle, requests_to_client, sessions
from accord.dialects.v2_draft.sessions import OPENING, PROMPTS
from accord.dialects.v2_draft.tool_calls import DraftDialect
from accord.dialects.v2_draft.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2_draft as wire
from accord.session import requests as words

__all__ = ["EXCHANGES", "V2Draft"]


def _as_v1(word: type[words.AcpRequest], **functions: Any) -> RequestConverter:
    return replace(EXCHANGES_OF_V1[word], **functions)


def _opens(word: type[words.AcpRequest], result: type[Any]) -> RequestConverter:
    return _as_v1(word, result_to_wire=OPENING.to_wire(result), result_from_wire=OPENING.from_wire)


_DIFFERENT = (
    _as_v1(
        words.Initialize,
        to_wire=lifecycle.initialize_to_wire,
        from_wire=lifecycle.initialize_from_wire,
        result_to_wire=lifecycle.initialized_to_wire,
        result_from_wire=lifecycle.initialized_from_wire,
    ),
    _opens(words.NewSession, wire.NewSessionResponse),
    _opens(words.LoadSession, wire.LoadSessionResponse),
    replace(_opens(words.ResumeSession, wire.ResumeSessionResponse), from_wire=SESSIONS.taken_up_from_wire),
    _opens(words.ForkSession, wire.ForkSessionResponse),
    _as_v1(
        words.Prompt,
        to_wire=PROMPTS.to_wire,
        from_wire=PROMPTS.from_wire,
        result_to_wire=sessions.prompt_answer_to_wire,
        result_from_wire=sessions.prompt_answer_from_wire,
    ),
    _as_v1(
        words.SetOption,
        to_wire=set_option_to_wire(wire.SetSessionConfigOptionRequest),
        from_wire=sessions.set_option_from_wire,
        result_to_wire=OPENING.options_set_to_wire,
        result_from_wire=OPENING.from_wire,
    ),
    PERMISSIONS.exchange(requests_to_client.permission_to_wire, requests_to_client.permission_from_wire),
    EXCHANGES_OF_V2[words.CancelToolCall],
    EXCHANGES_OF_V2[words.CancelTerminal],
)

EXCHANGES: dict[type[words.AcpRequest], RequestConverter] = {
    **EXCHANGES_OF_V1,
    **{exchange.word: exchange for exchange in _DIFFERENT},
}


class V2Draft(DraftDialect):
    """The early draft of v2, and v1 spoken under the number 2."""

    name: ClassVar[str] = "v2 draft"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = True
    has_client_resources: ClassVar[bool] = True
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    METHODS = wire.METHODS
    EXCHANGES = EXCHANGES
    TELLINGS = TELLINGS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.SessionNotification

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for word in (words.Authenticate, words.Logout):  # v2's names for them
            self._exchange_of_method[EXCHANGES_OF_V2[word].method] = EXCHANGES_OF_V2[word]
