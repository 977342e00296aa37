"""v2: the result of a prompt begins the turn, states end it, everything is a patch by id, and nearly all enums are open."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from msgspec.structs import replace

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.dialect import NotificationConverter, RequestConverter, by_type
from accord.dialects.struct_converter import copied_notification, copied_request
from accord.dialects.v2.accepted_draft_shapes import LENIENT_TYPES, Offer
from accord.dialects.v2.lifecycle import INITIALIZE
from accord.dialects.v2.options import OptionsDialect
from accord.dialects.v2.permissions import REQUEST_PERMISSION
from accord.dialects.v2.sessions import SESSION_REQUESTS
from accord.dialects.v2.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2 as wire
from accord.session import requests

__all__ = ["METHODS", "NOTIFICATIONS", "REQUESTS", "V2"]

METHODS = {**wire.METHODS, "initialize": replace(wire.METHODS["initialize"], params=Offer)}
_copied = partial(copied_request, METHODS)

REQUESTS: dict[type[requests.AcpRequest], RequestConverter] = by_type(
    INITIALIZE,
    _copied(requests.Authenticate, "auth/login"),
    _copied(requests.Logout, "auth/logout"),
    *SESSION_REQUESTS,
    _copied(requests.CloseSession, "session/close"),
    _copied(requests.DeleteSession, "session/delete"),
    _copied(requests.CancelToolCall, "tool_call/cancel"),
    _copied(requests.CancelTerminal, "terminal/cancel"),
    REQUEST_PERMISSION,
    ElicitationConverter(wire).request,
)

NOTIFICATIONS: dict[type[requests.AcpNotification], NotificationConverter] = {
    requests.Cancel: copied_notification(METHODS, requests.Cancel, "session/cancel"),
    requests.ElicitationCompleted: copied_notification(METHODS, requests.ElicitationCompleted, "elicitation/complete"),
}


class V2(OptionsDialect):
    """ACP v2 as published. A few shapes of its draft are read too, unless strict."""

    name: ClassVar[str] = "v2"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = False
    reports_state: ClassVar[bool] = True
    echoes_prompt: ClassVar[bool] = True
    has_modes: ClassVar[bool] = False
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = False
    initialize_may_repeat: ClassVar[bool] = True
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = True
    odd_ids_allowed: ClassVar[bool] = False
    batches_allowed: ClassVar[bool] = False

    METHODS = METHODS
    REQUESTS = REQUESTS
    NOTIFICATIONS = NOTIFICATIONS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.UpdateSessionNotification

    def _lenient_type(self, wire_type: Any) -> Any:
        return wire_type if self.strict else LENIENT_TYPES.get(wire_type, wire_type)
