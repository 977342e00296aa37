"""v1: the result of a prompt ends the turn, the client has files and terminals, enums are closed."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from accord.dialects.all_versions.elicitation import ElicitationConverter
from accord.dialects.dialect import NotificationConverter, RequestConverter, by_type
from accord.dialects.struct_converter import copied_notification, copied_request
from accord.dialects.v1.client_resources import CLIENT_RESOURCES
from accord.dialects.v1.lifecycle import INITIALIZE
from accord.dialects.v1.permissions import REQUEST_PERMISSION
from accord.dialects.v1.rewrites import RewriteDialect
from accord.dialects.v1.sessions import SESSION_REQUESTS
from accord.dialects.v1.updates import UPDATES_FROM_WIRE, UPDATES_TO_WIRE, rewrite_to_wire
from accord.schema import v1 as wire
from accord.session import requests
from accord.session.updates import Update

__all__ = ["NOTIFICATIONS", "REQUESTS", "V1"]

_copied = partial(copied_request, wire.METHODS)

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
    requests.Cancel: copied_notification(wire.METHODS, requests.Cancel, "session/cancel"),
    requests.ElicitationCompleted: copied_notification(
        wire.METHODS, requests.ElicitationCompleted, "elicitation/complete"
    ),
}


class V1(RewriteDialect):
    """ACP v1 as published, which includes v1 as first documented."""

    name: ClassVar[str] = "v1"
    version: ClassVar[int] = 1
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = False
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = True
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = True
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    METHODS = wire.METHODS
    REQUESTS = REQUESTS
    NOTIFICATIONS = NOTIFICATIONS
    UPDATES_TO_WIRE = UPDATES_TO_WIRE
    UPDATES_FROM_WIRE = UPDATES_FROM_WIRE
    UPDATE_PARAMS = wire.SessionNotification

    def update_to_wire(self, session_id: str, update: Update) -> list[Any]:
        """The params that express an update, and before it, rewritten messages that it finishes."""
        finished = self.rewrites[session_id].finished_before(update)
        before = [
            self.UPDATE_PARAMS(session_id=session_id, update=chunk)
            for rewrite in finished
            for chunk in rewrite_to_wire(self, session_id, rewrite)
        ]
        return [*before, *super().update_to_wire(session_id, update)]
