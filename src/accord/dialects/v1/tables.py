"""The tables of v1: its methods, and the converters of requests, notifications and updates."""

from __future__ import annotations

from functools import partial

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.dialect import NotificationConverter, RequestConverter, by_type
from accord.dialects.struct_converter import copied_notification, copied_request
from accord.dialects.v1.client_resources import CLIENT_RESOURCES
from accord.dialects.v1.lifecycle import INITIALIZE
from accord.dialects.v1.permissions import REQUEST_PERMISSION
from accord.dialects.v1.sessions import SESSION_REQUESTS
from accord.dialects.v1.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v1 as wire
from accord.session import requests

__all__ = ["METHODS", "NOTIFICATIONS", "REQUESTS", "UPDATES_FROM_WIRE", "UPDATES_TO_WIRE", "UPDATE_PARAMS"]

METHODS = wire.METHODS
UPDATE_PARAMS = wire.SessionNotification
_copied = partial(copied_request, METHODS)

REQUESTS: dict[type[requests.AcpRequest], RequestConverter] = by_type(
    INITIALIZE,
    _copied(requests.Authenticate, "authenticate"),
    _copied(requests.Logout, "logout"),
    *SESSION_REQUESTS,
    _copied(requests.CloseSession, "session/close"),
    _copied(requests.DeleteSession, "session/delete"),
    _copied(requests.SetMode, "session/set_mode"),
    _copied(requests.SetModel, "session/set_model"),
    REQUEST_PERMISSION,
    ElicitationConverter(wire, is_open=False).request,
    *CLIENT_RESOURCES,
)

NOTIFICATIONS: dict[type[requests.AcpNotification], NotificationConverter] = {
    requests.Cancel: copied_notification(METHODS, requests.Cancel, "session/cancel"),
    requests.ElicitationCompleted: copied_notification(METHODS, requests.ElicitationCompleted, "elicitation/complete"),
}
