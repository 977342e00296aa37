"""Dispatches the notifications and requests of an agent, in wire order, and registers extension methods.

Law: nothing here waits or runs user code.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from accord.client.call_match import open_call_for
from accord.client.connection import ClientConnection
from accord.client.open_session import OpenSession
from accord.client.permissions.option_choice import refuses
from accord.client.permissions.policies import with_streamed_input
from accord.client.session_registry import SessionRegistry
from accord.errors import InvalidRequest, MethodNotFound, NotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.session.entities import ToolCall
from accord.session.requests import (
    AcpRequest,
    ElicitationCompleted,
    ElicitationRequest,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.updates import ToolCallPatch
from accord.session.validation import check_extension
from accord.session.value import Value

__all__ = ["ExtensionMethods", "MessageDispatcher"]

log = logging.getLogger("accord.client")


class MessageDispatcher:
    """The receive function of a client's connection."""

    def __init__(self, connection: ClientConnection, registry: SessionRegistry, extensions: ExtensionMethods) -> None:
        self._connection = connection
        self._registry = registry
        self._extensions = extensions

    def __call__(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, RequestReceived):
            return self._request(event)
        if event.method != "session/update":
            self._notification(event)
        elif self._connection.is_negotiated:
            session_id, patches = self._connection.dialect.update_from_wire(event.params)
            self._registry.update(session_id, patches, len(memoryview(event.params)))
        else:
            self._connection.peer.limited_log.warning(log, "dropped an update that arrived before the handshake")
        return None

    def _notification(self, event: NotificationReceived) -> None:
        connection, size = self._connection, len(memoryview(event.params))
        handler = self._extensions.notifications.get(event.method)
        if handler is not None:
            connection.callbacks.put(handler, msgspec.json.decode(event.params), size)
            return
        notification, request, requests = None, None, connection.agent_requests
        if connection.is_negotiated:
            notification = connection.dialect.notification_from_wire(event.method, event.params, "agent")
        if isinstance(notification, ElicitationCompleted):
            request = requests.complete_elicitation(notification.elicitation_id)
        if request is None:
            connection.peer.limited_log.debug(log, "ignored a notification: %s", event.method)  # EXT-11
        elif requests.on_elicitation_complete is not None:
            connection.callbacks.put(requests.on_elicitation_complete, request, size)

    def _request(self, event: RequestReceived) -> Coroutine[Any, Any, Any]:
        method, params = event.request.method, event.request.params
        if not self._connection.is_negotiated:
            raise InvalidRequest("no request is accepted before the handshake")
        if method.startswith("_"):
            handler = self._extensions.methods.get(method)
            if handler is None:
                raise MethodNotFound(method)  # EXT-08
            return handler(msgspec.json.decode(params))
        request = self._connection.dialect.request_from_wire(method, params, "agent")
        session = self._session_of(request)
        if session is not None and session.id != getattr(request, "session_id", None):
            request = replace(request, session_id=session.id)
        call = None
        if (
            session is not None
            and isinstance(request, PermissionRequest)
            and isinstance(request.subject, ToolCallSubject)
        ):
            patch = _call_patch(request.subject.call, session)
            request = replace(request, subject=replace(request.subject, call=patch))
            session.take(patch, len(memoryview(params)))
            call = session.transcript.tool_calls.get(patch.id)
        is_cancelled, is_open = _is_cancelled(session, call), _is_open(session, call)
        answer = self._connection.agent_requests.answer(request, method, call, is_cancelled, is_open)
        return self._answer(request, answer, session)

    async def _answer(
        self, request: AcpRequest, answer: Callable[[], Coroutine[Any, Any, Value]], session: OpenSession | None
    ) -> Any:
        dialect = self._connection.dialect
        if session is None or not isinstance(request, (PermissionRequest, ElicitationRequest)):
            return dialect.result_to_wire(request, await answer())
        session.open_question()
        try:
            result: Any = await answer()
        finally:
            session.close_question()
        if isinstance(request, PermissionRequest) and refuses(request, result):
            subject = request.subject
            session.foreground.note_refusal(subject.call.id if isinstance(subject, ToolCallSubject) else None)
        return dialect.result_to_wire(request, result)

    def _session_of(self, request: AcpRequest) -> OpenSession | None:
        session_id: str | None = getattr(request, "session_id", None)
        if session_id is None:
            return None
        session = self._registry.find(session_id)
        if session is None:
            raise NotFound(session_id=session_id)
        return session


def _call_patch(patch: ToolCallPatch, session: OpenSession) -> ToolCallPatch:
    """The patch in a permission request, with the id of the call that it is for."""
    calls = session.transcript.tool_calls
    if patch.id not in calls and (match := open_call_for(patch, calls.values(), session.cwd)) is not None:
        patch = replace(patch, id=match.id)
    return with_streamed_input(patch, calls.get(patch.id))


def _is_cancelled(session: OpenSession | None, call: ToolCall | None) -> Callable[[], bool]:
    """Whether the work that a request is for has been cancelled, before or after the request arrived."""
    cancel_count = 0 if session is None else session.cancel_count

    def is_cancelled() -> bool:
        if session is None or (call is not None and session.foreground.is_background(call.id)):
            return False
        return session.is_cancelling or session.cancel_count != cancel_count

    return is_cancelled


def _is_open(session: OpenSession | None, call: ToolCall | None) -> Callable[[], bool]:
    """Whether the tool call that a request is for has not ended; for a request without a call, its session."""

    def is_open() -> bool:
        if session is None or session.is_closed:
            return False
        now = None if call is None else session.transcript.tool_calls.get(call.id)
        return call is None or (now is not None and not now.finished)

    return is_open


Handler = TypeVar("Handler", bound=Callable[[Any], Any])


class ExtensionMethods:
    """Handlers of methods beyond the protocol. A handler gets the decoded params."""

    def __init__(self) -> None:
        self.methods: dict[str, Callable[[Any], Coroutine[Any, Any, Any]]] = {}
        self.notifications: dict[str, Callable[[Any], Any]] = {}

    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Register the handler of a request; what it returns is the result."""

        def register(handler: Handler) -> Handler:
            async def answer(params: Any) -> Any:
                result = handler(params)
                return await result if inspect.isawaitable(result) else result

            self.methods[check_extension(name)] = answer
            return handler

        return register

    def notification(self, name: str) -> Callable[[Handler], Handler]:
        """Register the handler of a notification; notifications are handled in the order of their arrival."""

        def register(handler: Handler) -> Handler:
            self.notifications[check_extension(name)] = handler
            return handler

        return register
