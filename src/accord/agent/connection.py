"""One connection of an agent: the handshake, the dispatch of the client's requests, and requests to the client.

`AgentEndpoint` is the agent's end of the connection. It passes requests about sessions to its `RequestHandler`, and refuses
whatever comes before `initialize`, was not offered, or needs a login first. `AgentConnection` is what the author's code
holds of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from accord.agent.blocked_loop import BlockedLoopWatch
from accord.agent.definition import AgentDefinition, Handler, call_handler
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import negotiate
from accord.errors import AuthRequired, InvalidParams, InvalidRequest, Malformed, MethodNotFound
from accord.jsonrpc.codec import encode
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.jsonrpc.messages import ResultResponse
from accord.peer import HandlerResult, Peer
from accord.peer.required_await import requires_await
from accord.session.capabilities import AgentCapabilities, ClientCapabilities, Implementation, TerminalLogin
from accord.session.content import Audio, Content, Image, Resource
from accord.session.requests import (
    AcpNotification,
    AcpRequest,
    Authenticate,
    Cancel,
    CloseSession,
    DeleteSession,
    EmptyResult,
    ForkSession,
    Initialize,
    InitializeResult,
    ListSessions,
    LoadSession,
    Logout,
    NewSession,
    Prompt,
    ResumeSession,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.type_checks import check_types
from accord.session.validation import Validator, check_extension
from accord.session.value import Value
from accord.transports.transport import Identity, Transport

T = TypeVar("T", bound=AcpRequest | AcpNotification)

AfterResponse: TypeAlias = Callable[[], None] | None
"""Called once the response has been sent."""

_TRACE = ("traceparent", "tracestate", "baggage")
_CAPABILITIES: dict[type[AcpRequest], str] = {
    LoadSession: "load",
    ResumeSession: "resume",
    ListSessions: "list",
    CloseSession: "close",
    DeleteSession: "delete",
    ForkSession: "fork",
    Logout: "logout",
}
_NEEDS_LOGIN = (NewSession, LoadSession, ResumeSession, ForkSession, ListSessions, Prompt, SetMode, SetModel, SetOption)


class RequestHandler(Protocol):
    """Handles the requests of a connection that are about sessions."""

    def prompt(self, request: Prompt) -> Coroutine[Any, Any, Any]: ...

    def cancel(self, session_id: str) -> None: ...

    def cancel_all(self) -> Coroutine[Any, Any, None]:
        """Cancel every turn that this connection started, at once; the coroutine waits until they have ended."""
        ...

    async def handle(self, request: AcpRequest, method: str) -> tuple[Value, AfterResponse]: ...

    async def aclose(self) -> None: ...


class AgentConnection:
    """The client, as an author's code sees it. Nothing may be decided by its name."""

    def __init__(
        self, endpoint: AgentEndpoint, trace: dict[str, Any] | None = None, validator: Validator | None = None
    ) -> None:
        self._endpoint = endpoint
        self._trace = trace
        self._validator = validator or Validator(_refuse_relative_path, _accept_terminal)

    @property
    def info(self) -> Implementation | None:
        """The name and version of the client."""
        return self._endpoint.info

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client offers; `meta` and `group_meta` are what it advertises beyond the protocol."""
        return self._endpoint.capabilities

    @requires_await("turn.client.request")
    async def request(self, request: AcpRequest | str, params: Any = None, *, deadline: float | None = None) -> Any:
        """Send a request of `accord.session.requests`, or one of your own such as `"_acme/pick"`, and return the result.

        ValueError for a request that is not valid, MethodNotFound when the negotiated version does not have it.
        """
        endpoint = self._endpoint
        if isinstance(request, str):
            method = check_extension(request)
            return msgspec.json.decode(await endpoint.peer.request(method, self._add_trace(params), deadline=deadline))
        request = self._with_trace(self._validator.request(request))
        method, params = endpoint.to_wire(request)
        return endpoint.dialect.result_from_wire(
            request, await endpoint.peer.request(method, params, deadline=deadline)
        )

    async def notify(self, notification: AcpNotification | str, params: Any = None) -> None:
        """Send a notification of `accord.session.requests`, or one of your own such as `"_acme/highlight"`."""
        if isinstance(notification, str):
            await self._endpoint.peer.notify(check_extension(notification), self._add_trace(params))
            return
        check_types(notification)
        await self._endpoint.peer.notify(*self._endpoint.dialect.notification_to_wire(self._with_trace(notification)))

    def _with_trace(self, message: T) -> T:
        return replace(message, meta={**self._trace, **(message.meta or {})}) if self._trace else message

    def _add_trace(self, params: Any) -> Any:
        params = {} if params is None else params
        if not self._trace or not isinstance(params, dict):
            return params
        members: dict[str, Any] = {**params}
        return {**members, "_meta": {**self._trace, **members.get("_meta", {})}}


class AgentEndpoint:
    """Serves an agent to one client until either hangs up. `info` and `capabilities` are the client's."""

    dialect: Dialect
    """Of the negotiated version; set by the handshake."""
    capabilities: ClientCapabilities
    _offer: _Offer
    """Set by the handshake, too."""

    def __init__(self, definition: AgentDefinition, transport: Transport, make_handler: RequestHandlerFactory) -> None:
        self.info: Implementation | None = None
        self.identity: Identity | None = None
        """Who the client is; None where nobody asked: a local program, or a server without users."""
        self.peer = Peer(
            transport, self._receive, limits=definition.limits, on_frame=definition.on_frame, on_input_end=self._finish
        )
        self._definition = definition
        self._make_handler = make_handler
        self._handler: RequestHandler | None = None
        self._is_settled = False
        self._is_logged_in = False

    @property
    def logins(self) -> list[Any]:
        """The agent's logins as the handshake sent them, for `auth_required`."""
        return self._offer.logins

    async def run(self) -> None:
        """Serve until the connection ends, from either side; all turns have ended then."""
        async with BlockedLoopWatch(self._definition.policy.slow_loop_seconds):
            try:
                async with self.peer:
                    await self.peer.wait_closed()
            finally:
                if self._handler is not None:
                    await self._handler.aclose()  # FN-37

    def to_wire(self, request: AcpRequest) -> tuple[str, Any]:
        """Method and params of a request to the client; ValueError for a request that is not valid."""
        try:
            return self.dialect.request_to_wire(request)
        except Malformed as error:
            raise ValueError(f"invalid request: {error.path}: {error.reason}") from error

    def _finish(self) -> Coroutine[Any, Any, None]:
        """At the end of input every turn is cancelled at once; their ends and all responses are still sent (FN-37)."""
        return _nothing() if self._handler is None else self._handler.cancel_all()

    def _receive(self, event: RequestReceived | NotificationReceived) -> Coroutine[Any, Any, Any] | None:
        if isinstance(event, NotificationReceived):
            return None if self._handler is None else self._handle_notification(event, self._handler)
        incoming = event.request
        method = incoming.method
        if method == "initialize":
            return self._initialize(incoming.params)
        if self._handler is None:
            raise InvalidRequest("Not initialized: initialize must be the first request")
        self._is_settled = True
        if method in self._definition.methods:
            return self._call_extension(self._definition.methods[method], msgspec.json.decode(incoming.params))
        request = self.dialect.request_from_wire(method, incoming.params, "client")
        incoming.release()
        self._check(request, method)
        if isinstance(request, Prompt):
            self._check_content(request)
            return self._handler.prompt(request)
        return self._respond(request, method, self._handler)

    def _handle_notification(
        self, event: NotificationReceived, sessions: RequestHandler
    ) -> Coroutine[Any, Any, Any] | None:
        handler = self._definition.notifications.get(event.method)
        if handler is not None:
            params = msgspec.json.decode(event.params)
            return call_handler(handler, params, self._connection(params))
        notification = self.dialect.notification_from_wire(event.method, event.params, "client")
        if isinstance(notification, Cancel):
            sessions.cancel(notification.session_id)
        return None

    def _initialize(self, params: msgspec.Raw) -> Coroutine[Any, Any, Any]:
        before = None if self._handler is None else self.dialect
        if before is not None and (self._is_settled or not before.initialize_may_repeat):
            raise InvalidRequest("This connection is already initialized")
        dialect, request = negotiate(params, strict=self._definition.strict, before=before)
        self.dialect, self.info, self.capabilities = dialect, request.info, request.capabilities
        response = InitializeResult(
            version=dialect.version,
            info=self._definition.info,
            capabilities=self._definition.capabilities(),
            auth_methods=[login.method for login in self._definition.logins.values()],
        )
        result = dialect.result_to_wire(request, response)
        self._offer = _Offer(dialect, request, result)
        self._handler = self._make_handler(self)
        return self._initialized(result, dialect)

    async def _initialized(self, result: Any, dialect: Dialect) -> HandlerResult:
        return HandlerResult(result, partial(self._after_handshake, dialect))

    def _after_handshake(self, dialect: Dialect) -> None:
        self.peer.set_version_rules(odd_ids_allowed=dialect.odd_ids_allowed, batches_allowed=dialect.batches_allowed)
        # The response is on its way: what the next requests need is loaded while the client reads it.
        asyncio.get_running_loop().call_soon(dialect.load_tables)

    def _check(self, request: AcpRequest, method: str) -> None:
        capability = _CAPABILITIES.get(type(request))
        if capability is not None and not getattr(self._offer.capabilities, capability):
            raise MethodNotFound(method)
        if isinstance(request, Authenticate) and not self._definition.logins:
            raise MethodNotFound(method)  # AMB-10
        if isinstance(request, _NEEDS_LOGIN) and not self._has_access():
            raise AuthRequired(self.logins)

    def _has_access(self) -> bool:
        if self._is_logged_in or not self._definition.logins:
            return True
        logged_in = self._definition.logged_in
        return logged_in() if callable(logged_in) else logged_in

    def _check_content(self, prompt: Prompt) -> None:
        for index, block in enumerate(prompt.content):
            missing = self._missing_option(block)
            if missing is not None:
                kind, option = missing
                reason = f"this agent does not accept {kind}: Agent(..., {option}=True) offers that"
                raise InvalidParams(reason, field=f"prompt[{index}].type")

    def _missing_option(self, block: Content) -> tuple[str, str] | None:
        """The kind of a block that was not offered, and the option of `Agent` that offers it; None for an offered one."""
        offer = self._definition
        match block:
            case Image() if not offer.image:
                return "images", "image"
            case Audio() if not offer.audio:
                return "audio", "audio"
            case Resource(text=str()) if not offer.strict:
                return None  # FN-111: some clients send one with every prompt; it is text, which every agent accepts
            case Resource() if not offer.embedded_context:
                return "embedded resources", "embedded_context"
            case _:
                return None

    async def _call_extension(self, handler: Handler, params: Any) -> Any:
        with self._complete_logins():
            return await call_handler(handler, params, self._connection(params))

    def _connection(self, params: Any = None) -> AgentConnection:
        members: dict[str, Any] = {**params} if isinstance(params, dict) else {}
        return AgentConnection(self, trace_context(members.get("_meta")))

    @contextmanager
    def _complete_logins(self) -> Generator[None]:
        """Adds the logins of the handshake to an author's `AuthRequired()`, in the client's version (RPC-31)."""
        try:
            yield
        except AuthRequired as required:
            required.complete(self.logins)
            raise

    async def _respond(self, request: AcpRequest, method: str, sessions: RequestHandler) -> Any:
        response: Value = EmptyResult()
        after: AfterResponse = None
        with self._complete_logins():
            match request:
                case Authenticate():
                    await self._log_in(request)
                case Logout():
                    await self._log_out()
                case _:
                    response, after = await sessions.handle(request, method)
        result = self.dialect.result_to_wire(request, response)
        return result if after is None else HandlerResult(result, after)

    async def _log_in(self, request: Authenticate) -> None:
        login = self._definition.logins.get(request.method_id)
        if login is None or isinstance(login.method, TerminalLogin) or login.handler is None:
            raise InvalidParams("this agent does not have this login", field="methodId")
        # FN-76: repeating a login is harmless. An agent with its own check gets each one, so that it can check again.
        if not self._is_logged_in or callable(self._definition.logged_in):
            await call_handler(login.handler, self._connection())
            self._is_logged_in = True

    async def _log_out(self) -> None:
        if self._definition.logout_handler is not None:
            await call_handler(self._definition.logout_handler, self._connection())
        self._is_logged_in = False


RequestHandlerFactory: TypeAlias = Callable[[AgentEndpoint], RequestHandler]


def trace_context(meta: Any) -> dict[str, Any]:
    """The trace context in the `_meta` of a request, for the requests that follow from it."""
    if not isinstance(meta, dict):
        return {}
    members: dict[str, Any] = {**meta}
    return {key: members[key] for key in _TRACE if key in members}


async def _nothing() -> None: ...


def _refuse_relative_path(path: str) -> str:
    raise ValueError(
        f"the path {path!r} is not absolute, and there is no session whose directory it could be relative to"
    )


def _accept_terminal(terminal_id: str) -> None: ...


class _Offer:
    """Our result of `initialize` as the client reads it: a version may imply more than was said (v2's list, resume, close).

    It is read when it is first needed, which is after it was sent.
    """

    def __init__(self, dialect: Dialect, request: Initialize, result: Any) -> None:
        self._dialect = dialect
        self._request = request
        self._result = result

    @cached_property
    def _raw(self) -> msgspec.Raw:
        frame = msgspec.Raw(encode(ResultResponse(id=0, result=self._result)))
        return msgspec.json.decode(frame, type=_Result).result

    @cached_property
    def capabilities(self) -> AgentCapabilities:
        return self._dialect.result_from_wire(self._request, self._raw).capabilities

    @cached_property
    def logins(self) -> list[Any]:
        return msgspec.json.decode(self._raw, type=_Logins).auth_methods


class _Result(msgspec.Struct):
    result: msgspec.Raw


class _Logins(msgspec.Struct, rename="camel"):
    auth_methods: list[Any] = []
