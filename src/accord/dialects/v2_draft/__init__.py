"""The v2 draft: reads v1, the early draft and what v2 made of it; sends requests of v1 and updates of the draft.

Several agents repeat whatever version they are offered and speak v1. So as long as a peer has not sent a shape that v1
does not have, null in a tool call update changes nothing, as in v1; from then on it clears.
"""

from __future__ import annotations

from typing import Any, ClassVar

from accord.dialects.dialect import RequestConverter, by_type
from accord.dialects.v1 import NOTIFICATIONS
from accord.dialects.v1 import REQUESTS as REQUESTS_OF_V1
from accord.dialects.v2 import REQUESTS as REQUESTS_OF_V2
from accord.dialects.v2_draft.lifecycle import INITIALIZE
from accord.dialects.v2_draft.sessions import SESSION_REQUESTS
from accord.dialects.v2_draft.tool_calls import REQUEST_PERMISSION, DraftDialect
from accord.dialects.v2_draft.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE
from accord.schema import v2_draft as wire
from accord.session import requests

__all__ = ["REQUESTS", "V2Draft"]

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


class V2Draft(DraftDialect):
    """The early draft of v2, and v1 spoken under the number 2."""

    name: ClassVar[str] = "v2 draft"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = True
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    METHODS = wire.METHODS
    REQUESTS = REQUESTS
    NOTIFICATIONS = NOTIFICATIONS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.SessionNotification

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for request_type in (requests.Authenticate, requests.Logout):  # v2's names for them
            converter = REQUESTS_OF_V2[request_type]
            self._request_by_method[converter.method] = converter
