"""v2: the prompt's answer begins the work, states tell its end, everything is a patch by id, and nearly all is open."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from msgspec.structs import replace

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.dialect import NotificationConverter, RequestConverter
from accord.dialects.struct_converter import acknowledged, plain
from accord.dialects.v2 import lifecycle, sessions
from accord.dialects.v2 import requests_to_client as client
from accord.dialects.v2.accepted_draft_shapes import LOOSER, Offer
from accord.dialects.v2.lifecycle import OptionsDialect
from accord.dialects.v2.requests_to_client import PERMISSIONS
from accord.dialects.v2.sessions import PROMPTS, SESSIONS
from accord.dialects.v2.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2 as wire
from accord.session import requests as words

__all__ = ["EXCHANGES", "METHODS", "TELLINGS", "V2"]


_ELICITATION = ElicitationConverter(wire)

_EXCHANGES = (
    RequestConverter(
        words.Initialize,
        "initialize",
        lifecycle.initialize_to_wire,
        lifecycle.initialize_from_wire,
        lifecycle.initialized_to_wire,
        lifecycle.initialized_from_wire,
    ),
    acknowledged(words.Authenticate, "auth/login", wire.LoginAuthRequest, wire.LoginAuthResponse),
    acknowledged(words.Logout, "auth/logout", wire.LogoutAuthRequest, wire.LogoutAuthResponse),
    RequestConverter(
        words.NewSession,
        "session/new",
        SESSIONS.new_to_wire,
        SESSIONS.new_from_wire,
        sessions.opened_to_wire(wire.NewSessionResponse),
        sessions.opened_from_wire,
    ),
    RequestConverter(
        words.LoadSession,
        "session/resume",
        SESSIONS.stored_to_wire(partial(wire.ResumeSessionRequest, replay_from=wire.ReplayFromStart())),
        SESSIONS.taken_up_from_wire,
        sessions.opened_to_wire(wire.ResumeSessionResponse),
        sessions.opened_from_wire,
    ),
    RequestConverter(
        words.ResumeSession,
        "session/resume",
        SESSIONS.stored_to_wire(wire.ResumeSessionRequest),
        SESSIONS.taken_up_from_wire,
        sessions.opened_to_wire(wire.ResumeSessionResponse),
        sessions.opened_from_wire,
    ),
    RequestConverter(
        words.ForkSession,
        "session/fork",
        SESSIONS.stored_to_wire(wire.ForkSessionRequest),
        SESSIONS.stored_from_wire(words.ForkSession),
        sessions.opened_to_wire(wire.ForkSessionResponse),
        sessions.opened_from_wire,
    ),
    SESSIONS.listing,
    acknowledged(words.CloseSession, "session/close", wire.CloseSessionRequest, wire.CloseSessionResponse),
    acknowledged(words.DeleteSession, "session/delete", wire.DeleteSessionRequest, wire.DeleteSessionResponse),
    RequestConverter(
        words.Prompt,
        "session/prompt",
        PROMPTS.to_wire,
        PROMPTS.from_wire,
        sessions.prompt_answer_to_wire,
        sessions.prompt_answer_from_wire,
    ),
    RequestConverter(
        words.SetOption,
        "session/set_config_option",
        sessions.set_option_to_wire(wire.SetSessionConfigOptionRequest),
        sessions.set_option_from_wire,
        sessions.options_set_to_wire,
        sessions.opened_from_wire,
    ),
    acknowledged(words.CancelToolCall, "tool_call/cancel", wire.CancelToolCallRequest, wire.CancelToolCallResponse),
    acknowledged(words.CancelTerminal, "terminal/cancel", wire.CancelTerminalRequest, wire.CancelTerminalResponse),
    PERMISSIONS.exchange(client.permission_to_wire, client.permission_from_wire),
    _ELICITATION.exchange,
)

EXCHANGES: dict[type[words.AcpRequest], RequestConverter] = {exchange.word: exchange for exchange in _EXCHANGES}

TELLINGS: dict[type[words.AcpNotification], NotificationConverter] = {
    words.Cancel: NotificationConverter(
        words.Cancel, "session/cancel", *plain(words.Cancel, wire.CancelSessionNotification)
    ),
    words.ElicitationCompleted: _ELICITATION.telling,
}

METHODS = {**wire.METHODS, "initialize": replace(wire.METHODS["initialize"], params=Offer)}


class V2(OptionsDialect):
    """ACP v2 as published. A few forms of its draft are read too, unless strict."""

    name: ClassVar[str] = "v2"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = False
    reports_state: ClassVar[bool] = True
    echoes_prompt: ClassVar[bool] = True
    has_client_resources: ClassVar[bool] = False
    has_modes: ClassVar[bool] = False
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = False
    initialize_may_repeat: ClassVar[bool] = True
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = True
    odd_ids_allowed: ClassVar[bool] = False
    batches_allowed: ClassVar[bool] = False

    METHODS = METHODS
    EXCHANGES = EXCHANGES
    TELLINGS = TELLINGS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.UpdateSessionNotification

    def _read_as(self, wire_type: Any) -> Any:
        return wire_type if self.strict else LOOSER.get(wire_type, wire_type)
