"""Dispatches the notifications and requests of an agent, in wire order, and registers extension methods.

Finds the open tool call that a permission request is for, where the request has an id of its own: deepagents-code.

Laws: nothing here waits or runs user code. A request takes over the kind of a call only if both tell the same action, and
only one call does. What reads or edits by its kind may be allowed without a question, so for those more has to be the same.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from accord.client.connection import ClientConnection
from accord.client.open_session import OpenSession
from accord.client.permissions.policies import refuses, with_streamed_input
from accord.client.permissions.writes_and_commands import PATHS, TEXTS, members, raw_command
from accord.client.session_registry import SessionRegistry
from accord.errors import InvalidRequest, MethodNotFound, NotFound
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.session.entities import Diff, ToolCall
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
    if (
        patch.id not in calls
        and (match := open_call_for(patch, session.transcript.open_calls, session.cwd)) is not None
    ):
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


_READS = ("read", "search", "think")


def open_call_for(told: ToolCallPatch, calls: Iterable[ToolCall], cwd: str) -> ToolCall | None:
    """The call that is meant by a request that names none and no kind; None if there is none, or more than one."""
    if told.kind:
        return None
    likeness = {call.id: (_likeness(told, call, cwd), call) for call in calls if not call.finished}
    most = max((rank for rank, _ in likeness.values()), default=0)
    found = [call for rank, call in likeness.values() if rank == most > 0]
    return found[0] if len(found) == 1 else None


def _likeness(told: ToolCallPatch, call: ToolCall, cwd: str) -> int:
    """How much speaks for it: 0 if nothing does, or something speaks against it."""
    raw, known = members(told.raw_input), members(call.raw_input)
    paths, known_paths = _paths(told, cwd), _paths(call, cwd)
    if (
        _differ(told.raw_input or None, call.raw_input)
        or not _is_same_command(raw, call)
        or not _may_be_same(paths, known_paths)
    ):
        return 0
    is_titled, is_equal = bool(told.title) and told.title == call.title, bool(raw) and raw == known
    writes = any(isinstance(item, Diff) for item in told.content or ()) or any(name in raw for name in TEXTS)
    if call.kind in _READS:
        return 2 if is_titled and raw == known and not writes else 0
    if call.kind == "edit" and raw and not writes and not (is_equal and is_titled):
        return 0
    is_telling = writes or raw_command(raw) is not None
    if is_equal and (is_titled or is_telling):
        return 3
    if is_titled:
        return 2
    return 1 if call.kind == "edit" and writes and paths and paths == known_paths else 0


def _differ(raw: Any, known: Any) -> bool:
    """Whether one says something else than the other; what only one of them says is no difference."""
    if isinstance(raw, dict) and isinstance(known, dict):
        said, also = members(raw), members(known)
        return any(said[name] != also[name] for name in said.keys() & also.keys())
    return raw is not None and known is not None and raw != known


def _is_same_command(raw: dict[str, Any], call: ToolCall) -> bool:
    """Whether the call runs the command that the request tells, if it tells one."""
    command = raw_command(raw)
    if command is None:
        return True
    known = raw_command(call.raw_input)
    return command == (call.title if known is None and call.kind == "execute" else known)


def _paths(call: ToolCall | ToolCallPatch, cwd: str) -> set[str]:
    diffs = [item for item in call.content or () if isinstance(item, Diff)]
    named = [change.path for diff in diffs for change in diff.changes] + [place.path for place in call.locations or ()]
    raw = members(call.raw_input)
    named += [raw[name] for name in PATHS if isinstance(raw.get(name), str)]
    return {os.path.normpath(os.path.join(cwd, path)) for path in named}  # noqa: PTH118  # not what is on this disk


def _may_be_same(paths: set[str], known: set[str]) -> bool:
    return not paths or not known or paths <= known or known <= paths
