"""Dispatches what arrives from an agent, in wire order, and registers extension methods.

Law: nothing here waits or runs the user's code.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from accord.client.call_match import open_call_for
from accord.client.permissions.option_choice import refuses
from accord.client.permissions.policies import with_streamed_input
from accord.dialects.all_versions.subagents import Subagents
from accord.dialects.chunk_fast_path import update_reader
from accord.dialects.dialect import Dialect
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
from accord.session.updates import Patch, ToolCallPatch
from accord.session.validation import check_extension

if TYPE_CHECKING:
    from accord.client.connection import ClientConnection
    from accord.client.session import Session

__all__ = ["Dispatcher", "Extensions"]

log = logging.getLogger("accord.client")

HELD_BYTES = 4 * 1024 * 1024


class Dispatcher:
    """The receive function of a client's peer, and the sessions that it knows."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.dialect: Dialect | None = None
        self.sessions: dict[str, Session] = {}
        self._subagents = Subagents()
        self._opening = 0
        self._held: dict[str, list[tuple[Patch, int]]] = {}
        self._held_bytes = 0

    def begin_opening(self) -> None:
        """A session will be named by an answer; until then, updates of sessions that nobody knows are held (FN-01)."""
        self._opening += 1

    def end_opening(self) -> None:
        """The answer is there, or will not come."""
        self._opening -= 1
        if self._opening == 0:
            for session_id in self._held:
                self._warn("updates of a session that never was were dropped: %s", repr(session_id[:100]))
            self._held.clear()
            self._held_bytes = 0

    def add(self, session: Session) -> None:
        """From now on the session's updates are its own; those that were held come first."""
        self.sessions[session.id] = session
        peer = self._connection.peer
        if peer.fast_path is None and self.dialect is not None:  # not earlier: to make it takes some milliseconds
            peer.fast_path = update_reader(self.dialect, self.sessions)
        for report, size in self._held.pop(session.id, ()):
            self._held_bytes -= size
            session.take(report, size)

    def __call__(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if type(event) is NotificationReceived:
            if event.method == "session/update":
                self._update(event.params)
            else:
                self._notification(event)
            return None
        assert isinstance(event, RequestReceived)
        return self._request(event)

    def _update(self, params: msgspec.Raw) -> None:
        dialect = self.dialect
        if dialect is None:
            self._warn("an update before the handshake was dropped")
            return
        told_by, reports = dialect.update_from_wire(params)
        session_id = self._open_for(told_by)
        session = self.sessions.get(session_id)
        size = len(memoryview(params))
        for report in self._subagents.root_patches(session_id, told_by, reports):
            if session is not None:
                session.take(report, size)
            else:
                self._hold(session_id, report, size)

    def _hold(self, session_id: str, report: Patch, size: int) -> None:
        if self._opening == 0 or self._held_bytes + size > HELD_BYTES:  # AMB-40
            self._warn("an update of a session that is not open here was dropped: %s", repr(session_id[:100]))
            return
        self._held_bytes += size
        self._held.setdefault(session_id, []).append((report, size))

    def _notification(self, event: NotificationReceived) -> None:
        connection, size = self._connection, len(memoryview(event.params))
        handler = connection.extensions.notifications.get(event.method)
        if handler is not None:
            connection.deliveries.put(handler, msgspec.json.decode(event.params), size)
            return
        told = (
            None if self.dialect is None else self.dialect.notification_from_wire(event.method, event.params, "agent")
        )
        page = connection.questions.completed(told.elicitation_id) if isinstance(told, ElicitationCompleted) else None
        if page is None:
            connection.peer.limited_log.debug(log, "ignored: a notification of %s", event.method)  # EXT-11
        elif connection.questions.on_elicitation_complete is not None:
            connection.deliveries.put(connection.questions.on_elicitation_complete, page, size)

    def _request(self, event: RequestReceived) -> Coroutine[Any, Any, Any]:
        method, params = event.request.method, event.request.params
        dialect = self.dialect
        if dialect is None:
            raise InvalidRequest("nothing can be asked before the handshake")
        if method.startswith("_"):
            handler = self._connection.extensions.methods.get(method)
            if handler is None:
                raise MethodNotFound(method)  # EXT-08
            return handler(msgspec.json.decode(params))
        asked = dialect.request_from_wire(method, params, "agent")
        session = self._session_of(asked)
        if session is not None and session.id != getattr(asked, "session_id", None):
            asked = replace(asked, session_id=session.id)
        call = None
        if session is not None and isinstance(asked, PermissionRequest) and isinstance(asked.subject, ToolCallSubject):
            told = _told_of_call(asked.subject.call, session)
            asked = replace(asked, subject=replace(asked.subject, call=told))
            session.take(told, len(memoryview(params)))
            call = session.transcript.tool_calls.get(told.id)
        is_cancelled, is_open = _is_cancelled(session, call), _is_open(session, call)
        work = self._connection.questions.answer(asked, method, call, is_cancelled, is_open)
        asker = session if isinstance(asked, (PermissionRequest, ElicitationRequest)) else None
        return _answered(dialect, asked, work, asker)

    def _session_of(self, asked: AcpRequest) -> Session | None:
        session_id: str | None = getattr(asked, "session_id", None)
        if session_id is None:
            return None
        session = self.sessions.get(self._open_for(session_id))
        if session is None:
            raise NotFound(session_id=session_id)
        return session

    def _warn(self, text: str, *arguments: object) -> None:
        self._connection.peer.limited_log.warning(log, text, *arguments)

    def _open_for(self, session_id: str) -> str:
        """The session itself, or the one that a subagent works for."""
        return session_id if session_id in self.sessions else self._subagents.root_of(session_id)


def _told_of_call(told: ToolCallPatch, session: Session) -> ToolCallPatch:
    """What a permission request tells of its call, under the id of the call that it is for."""
    known = session.transcript.tool_calls
    if told.id not in known and (meant := open_call_for(told, known.values(), session.cwd)) is not None:
        told = replace(told, id=meant.id)
    return with_streamed_input(told, known.get(told.id))


def _is_cancelled(session: Session | None, call: ToolCall | None) -> Callable[[], bool]:
    """Tells whether the work that a question is for has been cancelled, before or after the question came."""
    cancels = 0 if session is None else session.cancels

    def is_cancelled() -> bool:
        if session is None or (call is not None and session.in_background(call.id)):
            return False
        return session.is_cancelling or session.cancels != cancels

    return is_cancelled


def _is_open(session: Session | None, call: ToolCall | None) -> Callable[[], bool]:
    """Tells whether the tool call that a question is for is still being done; for one without a call, its session."""

    def is_open() -> bool:
        if session is None or session.is_closed:
            return False
        now = None if call is None else session.transcript.tool_calls.get(call.id)
        return call is None or (now is not None and not now.finished)

    return is_open


async def _answered(
    dialect: Dialect, asked: AcpRequest, work: Callable[[], Coroutine[Any, Any, Any]], asker: Session | None
) -> Any:
    if asker is None:
        return dialect.result_to_wire(asked, await work())
    asker.question_opened()
    try:
        answer = await work()
    finally:
        asker.question_closed()
    if isinstance(asked, PermissionRequest) and refuses(asked, answer):
        asker.foreground.refused(asked.subject.call.id if isinstance(asked.subject, ToolCallSubject) else None)
    return dialect.result_to_wire(asked, answer)


Handler = TypeVar("Handler", bound=Callable[[Any], Any])


class Extensions:
    """What the other side may call here beyond the protocol. A handler gets the params, decoded."""

    def __init__(self) -> None:
        self.methods: dict[str, Callable[[Any], Coroutine[Any, Any, Any]]] = {}
        self.notifications: dict[str, Callable[[Any], Any]] = {}

    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Register what answers a request; what it returns is the result."""

        def register(handler: Handler) -> Handler:
            async def answer(params: Any) -> Any:
                result = handler(params)
                return await result if inspect.isawaitable(result) else result

            self.methods[check_extension(name)] = answer
            return handler

        return register

    def notification(self, name: str) -> Callable[[Handler], Handler]:
        """Register what hears a notification; it is called in the order of arrival."""

        def register(handler: Handler) -> Handler:
            self.notifications[check_extension(name)] = handler
            return handler

        return register
