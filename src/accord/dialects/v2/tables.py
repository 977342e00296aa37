"""The tables of v2: its methods, and the converters of requests, notifications and updates."""

from __future__ import annotations

from functools import partial

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.dialect import NotificationConverter, RequestConverter, by_type
from accord.dialects.struct_converter import copied_notification, copied_request
from accord.dialects.v2.accepted_draft_shapes import LENIENT_TYPES
from accord.dialects.v2.lifecycle import INITIALIZE, INITIALIZE_METHOD
from accord.dialects.v2.permissions import REQUEST_PERMISSION
from accord.dialects.v2.sessions import SESSION_REQUESTS
from accord.dialects.v2.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2 as wire
from accord.session import requests

__all__ = [
    "LENIENT_TYPES",
    "METHODS",
    "NOTIFICATIONS",
    "REQUESTS",
    "UPDATES_FROM_WIRE",
    "UPDATES_TO_WIRE",
    "UPDATE_PARAMS",
]

METHODS = {**wire.METHODS, "initialize": INITIALIZE_METHOD}
UPDATE_PARAMS = wire.UpdateSessionNotification
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
