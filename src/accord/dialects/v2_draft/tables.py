"""The tables of the v2 draft: its methods, and the converters of requests, notifications and updates."""

from __future__ import annotations

from accord.dialects.dialect import RequestConverter, by_type
from accord.dialects.v1.tables import NOTIFICATIONS
from accord.dialects.v1.tables import REQUESTS as REQUESTS_OF_V1
from accord.dialects.v2.tables import REQUESTS as REQUESTS_OF_V2
from accord.dialects.v2_draft.lifecycle import INITIALIZE
from accord.dialects.v2_draft.sessions import SESSION_REQUESTS
from accord.dialects.v2_draft.tool_calls import REQUEST_PERMISSION
from accord.dialects.v2_draft.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2_draft as wire
from accord.session import requests

__all__ = [
    "LOGINS",
    "METHODS",
    "NOTIFICATIONS",
    "REQUESTS",
    "UPDATES_FROM_WIRE",
    "UPDATES_TO_WIRE",
    "UPDATE_PARAMS",
]

METHODS = wire.METHODS
UPDATE_PARAMS = wire.SessionNotification
REQUESTS: dict[type[requests.AcpRequest], RequestConverter] = {
    **REQUESTS_OF_V1,
    **by_type(
        INITIALIZE,
        *SESSION_REQUESTS,
        REQUEST_PERMISSION,
        REQUESTS_OF_V2[requests.CancelToolCall],
        REQUESTS_OF_V2[requests.CancelTerminal],
    ),
}

LOGINS = [REQUESTS_OF_V2[request_type] for request_type in (requests.Authenticate, requests.Logout)]
"""They are read under v2's names, too."""
