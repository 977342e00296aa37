"""An ASGI application that turns HTTP requests and WebSockets into connections, each a transport for `serve`.

`POST`, `GET` and `DELETE` of one path are the HTTP transport, a WebSocket of the same path is the other. Requests of web
pages from elsewhere are refused: a name that an attacker's DNS points here (`Host`), and pages of another origin
(`Origin`).

A connection belongs to who opened it: for everybody else, another token of the same user included, it does not exist. It
ends when the token is revoked or expires.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec

from accord.errors import ConnectionClosed
from accord.errors.local_errors import HttpRefusal
from accord.transports.asgi_link import SOCKET, AsgiLink, AsgiMessage, AsgiReceive, AsgiSend
from accord.transports.event_stream import KEEP_ALIVE, EventBuffer
from accord.transports.http_messages import (
    CONNECTION_ID,
    EVENT_STREAM,
    ID_LIMIT,
    JSON,
    LAST_EVENT_ID,
    RECEIVED,
    RESUME,
    SEQUENCE,
    SESSION_ID,
    RoutedMessage,
    is_batch,
    read_messages,
    read_number,
)
from accord.transports.http_request import Authenticator, HttpRequest, OriginCheck, UserCheck
from accord.transports.http_server import HttpLimits, HttpServerTransport
from accord.transports.tap import Observer
from accord.transports.trace_context import TRACEPARENT, TRACESTATE, valid_trace, with_trace
from accord.transports.transport import Identity
from accord.transports.websocket_server import WebSocketServerTransport

log = logging.getLogger("accord.http")

ServerTransport: TypeAlias = HttpServerTransport | WebSocketServerTransport

_NEEDS_SESSION_HEADER = {
    "session/prompt", "session/cancel", "session/close", "session/set_mode", "session/set_config_option",
}  # fmt: skip
_CHECK_SECONDS = 1.0  # between two looks at the tokens of open connections
_KEY_LENGTH = 16  # shorter ones could be those of several clients
_STREAM_HEADERS = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}


class HttpApplication:
    """Serves each connection with `serve`, which returns when the connection has ended.

    `hosts` are the names that clients may call the server by, beside those of loopback; `origins` are web pages that may
    connect, beside those of the server itself. With an `authenticator` every request needs a bearer token, unless a
    middleware has set the user.
    """

    def __init__(
        self,
        serve: Callable[[ServerTransport], Awaitable[None]],
        *,
        path: str = "/acp",
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: HttpLimits | None = None,
        authenticator: Authenticator | None = None,
    ) -> None:
        self._serve = serve
        self._user_check = UserCheck(authenticator)
        self.has_authentication = authenticator is not None
        self._checks: asyncio.Task[None] | None = None
        self.path = path
        self._origin_check = OriginCheck(hosts, origins)
        self.limits = limits or HttpLimits()
        self._connections: dict[str, ServerTransport] = {}
        self._new_connections: WeakValueDictionary[tuple[str, Identity | None], HttpServerTransport]
        self._new_connections = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self.observer: Observer | None = None
        """Sees the connections that begin after it is set."""

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """The ASGI application itself."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        request = HttpRequest(scope, receive, send)
        try:
            self._check(request)
            identity = self._user_check.identify(request)
            if scope["type"] == "websocket":
                await self._websocket(request, receive, send, identity)
            else:
                await self._http(request, identity)
        except HttpRefusal as refusal:
            if refusal.status == 401:
                self.login_refused(request.client_address)
            if self.observer is not None:
                self.observer.refused(refusal.status)
            await request.refuse(refusal)

    def login_refused(self, address: str | None) -> None:
        """Called for each request from this address that does not say, or not truly, who it is from."""

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    @property
    def takes_connections(self) -> bool:
        """Whether a new connection would be accepted now."""
        return not self._is_closing and len(self._connections) < self.limits.connections

    async def aclose(self, seconds: float = 3.0) -> None:
        """End all connections: turns are cancelled and their answers sent, within the time. Safe to call twice."""
        self._is_closing = True
        if self._checks is not None:
            self._checks.cancel()
        for connection in list(self._connections.values()):
            connection.end_input("the server shuts down")
        if self._tasks:
            _, unfinished = await asyncio.wait(self._tasks, timeout=seconds)
            for task in unfinished:
                task.cancel()

    async def _lifespan(self, receive: AsgiReceive, send: AsgiSend) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self.aclose()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def _check(self, request: HttpRequest) -> None:
        if request.path != self.path:
            raise HttpRefusal(404, "not found")
        reason = self._origin_check.refuse(request)
        if reason is not None:
            raise HttpRefusal(403, reason)

    async def _http(self, request: HttpRequest, identity: Identity | None) -> None:
        handlers = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
        handler = handlers.get(request.method)
        if handler is None:
            raise HttpRefusal(405, "only POST, GET and DELETE", {"allow": ", ".join(handlers)})
        await handler(request, identity)

    async def _post(self, request: HttpRequest, identity: Identity | None) -> None:
        if request.header(RECEIVED) is not None:
            await self._confirm(request, identity)
            return
        if request.media_type != JSON:
            raise HttpRefusal(415, f"the content type must be {JSON}")
        frame = await request.read_body(self.limits.body_bytes, self.limits.body_seconds)
        try:
            messages = read_messages(frame)
        except ValueError as error:
            raise HttpRefusal(400, str(error)) from None
        frame = with_trace(frame.strip().replace(b"\n", b" "), _trace_headers(request))
        if request.header(CONNECTION_ID) is None and messages[:1] and messages[0].is_initialize and not is_batch(frame):
            await self._initialize(request, frame, messages[0], identity)
            return
        connection = self._connection(request, identity)
        if is_batch(frame) and not connection.batches_allowed():
            raise HttpRefusal(501, "this version of the protocol has no batches")
        session_id = _session_header(request)
        for message in messages:
            _check_message(message, session_id)
        sequence = read_number(request.header(SEQUENCE))
        try:
            if sequence is None or sequence > connection.last_sequence:
                connection.receive(frame, messages, session_id)
            if sequence is not None:
                connection.last_sequence = max(sequence, connection.last_sequence)
            await connection.wait_for_room()
        except LookupError as error:
            raise HttpRefusal(429, str(error)) from None
        except TimeoutError:
            raise HttpRefusal(503, "the agent is busy") from None
        await request.respond(202)

    async def _confirm(self, request: HttpRequest, identity: Identity | None) -> None:
        """The client has received the events of a stream up to this one; the request has no message."""
        connection = self._connection(request, identity)
        await request.read_body(0, self.limits.body_seconds)
        connection.confirm(_session_header(request), read_number(request.header(RECEIVED)) or 0)
        await request.respond(202)

    async def _initialize(
        self, request: HttpRequest, frame: bytes, message: RoutedMessage, identity: Identity | None
    ) -> None:
        key = request.header(RESUME)
        self._end_cut(key, identity)
        self._check_room()
        connection = HttpServerTransport(self.limits, confirms=key is not None)
        if key is not None:
            self._new_connections[key, identity] = connection
        self._start(connection, identity)
        try:
            response = await connection.initialize(frame, message)
        except (ConnectionClosed, TimeoutError, asyncio.CancelledError) as error:
            connection.lose("the client did not get a response to initialize")
            if isinstance(error, asyncio.CancelledError):
                raise
            raise HttpRefusal(504, "initialize failed") from None
        headers = {"content-type": JSON, "cache-control": "no-store"}
        if b'"error"' in response and _is_error(response):
            connection.lose("initialize was refused")
        else:
            headers[CONNECTION_ID] = connection.id
            if connection.confirms:
                headers[RESUME] = f"{self.limits.idle_seconds:.0f}"
        await request.respond(200, response, headers)

    def _end_cut(self, key: str | None, identity: Identity | None) -> None:
        """End the connection of an `initialize` that was cut: its client makes the same request again."""
        connection = self._new_connections.get((key or "", identity))
        if connection is not None and len(key or "") >= _KEY_LENGTH:
            connection.lose("the client initializes again")

    async def _get(self, request: HttpRequest, identity: Identity | None) -> None:
        if request.header("upgrade") == "websocket":
            raise HttpRefusal(426, "no WebSocket here", {"upgrade": "websocket"})
        if not request.accepts(EVENT_STREAM):
            raise HttpRefusal(406, f"only {EVENT_STREAM}")
        connection = self._connection(request, identity)
        session_id = _session_header(request)
        last_event = read_number(request.header(LAST_EVENT_ID))
        try:
            stream = connection.find_stream(session_id)
        except LookupError as error:
            raise HttpRefusal(429, str(error)) from None
        if stream.has_reader and last_event is None:
            raise HttpRefusal(409, "another request reads this stream")
        try:
            reader = connection.open_stream(session_id, stream, last_event)
        except LookupError:
            connection.lose("the client has missed events that are not kept any more", is_overload=True)
            raise HttpRefusal(410, "what was sent since then is not kept any more") from None
        try:
            await self._send_events(request, stream, reader)
        finally:
            connection.close_stream(session_id, stream, reader)

    async def _send_events(self, request: HttpRequest, stream: EventBuffer, reader: int) -> None:
        await request.start(200, _STREAM_HEADERS)
        loop = asyncio.get_running_loop()
        copying = asyncio.create_task(self._copy_events(request, stream, reader), name="accord event stream")
        stream.on_drop = lambda: loop.call_later(self.limits.close_seconds, copying.cancel)
        left = asyncio.create_task(request.wait_disconnected(), name="accord event stream end")
        left.add_done_callback(lambda _: stream.detach(reader))
        replaced = asyncio.create_task(stream.wait_replaced(reader), name="accord event stream replaced")
        try:
            await asyncio.wait((copying, replaced), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (copying, left, replaced):
                task.cancel()

    async def _copy_events(self, request: HttpRequest, stream: EventBuffer, reader: int) -> None:
        with suppress(OSError):  # the client left
            if stream.is_empty:  # nginx holds the headers of a response back until it has some of the body
                await request.send_body(KEEP_ALIVE)
            while (chunk := await stream.read(reader, self.limits.keep_alive_seconds)) is not None:
                await request.send_body(chunk)
            await request.end_body()

    async def _delete(self, request: HttpRequest, identity: Identity | None) -> None:
        self._connection(request, identity).lose("the client ended the connection")
        await request.respond(202)

    async def _websocket(
        self, request: HttpRequest, receive: AsgiReceive, send: AsgiSend, identity: Identity | None
    ) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        if request.header(CONNECTION_ID) is not None:
            connection, received = self._cut_connection(request, identity)
            await connection.serve(_link(request, receive, send), received)
            return
        self._check_room()
        is_resumable = request.header(RESUME) is not None and self.limits.idle_seconds >= 1
        connection = WebSocketServerTransport(self.limits, is_resumable=is_resumable)
        task = self._start(connection, identity)
        try:
            await connection.serve(_link(request, receive, send))
            if not connection.is_resumable:
                await asyncio.wait((task,))
        finally:
            if not connection.is_resumable:
                task.cancel()

    def _cut_connection(self, request: HttpRequest, identity: Identity | None) -> tuple[WebSocketServerTransport, int]:
        """The connection that a client wants back, and how many frames it has received."""
        connection, received = self._find(request, identity), read_number(request.header(RECEIVED))
        if not isinstance(connection, WebSocketServerTransport):
            raise HttpRefusal(404, "unknown connection")
        if received is None:
            raise HttpRefusal(400, "the header Acp-Received is missing")
        if not connection.can_resume(received):
            raise HttpRefusal(410, "what was sent since then is not kept any more")
        return connection, received

    def _connection(self, request: HttpRequest, identity: Identity | None) -> HttpServerTransport:
        connection = self._find(request, identity)
        if not isinstance(connection, HttpServerTransport):
            raise HttpRefusal(404, "unknown connection")
        return connection

    def _find(self, request: HttpRequest, identity: Identity | None) -> ServerTransport:
        connection_id = request.header(CONNECTION_ID)
        if connection_id is None:
            raise HttpRefusal(400, "the header Acp-Connection-Id is missing")
        if len(connection_id) > ID_LIMIT:
            raise HttpRefusal(400, "the header Acp-Connection-Id is too long")
        connection = self._connections.get(connection_id)
        if connection is None or connection.is_closed or connection.identity != identity:
            raise HttpRefusal(404, "unknown connection")
        return connection

    def _check_room(self) -> None:
        if self._is_closing:
            raise HttpRefusal(503, "the server shuts down", {"retry-after": "5"})
        if len(self._connections) >= self.limits.connections:
            raise HttpRefusal(503, "too many connections", {"retry-after": "5"})

    def _start(self, connection: ServerTransport, identity: Identity | None) -> asyncio.Task[None]:
        connection.identity = identity
        self._connections[connection.id] = connection
        task = asyncio.create_task(self._run(connection), name="accord remote connection")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._connections.pop(connection.id, None))
        if self.has_authentication and (self._checks is None or self._checks.done()):
            self._checks = asyncio.create_task(self._end_revoked(), name="accord token checks")
        return task

    async def _end_revoked(self) -> None:
        """Ends connections whose token is no longer valid, as long as there are connections."""
        while self._connections:
            await asyncio.sleep(_CHECK_SECONDS)
            for connection in list(self._connections.values()):
                if not self._user_check.is_valid(connection.identity):
                    connection.lose("the token was revoked, or has expired")

    async def _run(self, connection: ServerTransport) -> None:
        if self.observer is not None:
            transport = "http" if isinstance(connection, HttpServerTransport) else "websocket"
            connection.tap = self.observer.connected(connection, transport)
        try:
            await self._serve(connection)
        except Exception:
            log.exception("a connection failed")
            if isinstance(connection, WebSocketServerTransport):
                connection.lose("the server failed", is_failure=True)
        finally:
            await connection.aclose()
            if connection.tap is not None:
                connection.tap.ended()


def _link(request: HttpRequest, receive: AsgiReceive, send: AsgiSend) -> AsgiLink:
    take_socket = request.extensions.get(SOCKET)
    return AsgiLink(receive, send, None if take_socket is None else take_socket())


def _session_header(request: HttpRequest) -> str | None:
    session_id = request.header(SESSION_ID)
    if session_id is not None and len(session_id) > ID_LIMIT:
        raise HttpRefusal(400, "the header Acp-Session-Id is too long")
    return session_id


def _check_message(message: RoutedMessage, header: str | None) -> None:
    if message.is_initialize:
        raise HttpRefusal(400, "this connection is already initialized")
    if message.session_id is None:
        return
    if len(message.session_id) > ID_LIMIT:
        raise HttpRefusal(400, "the session id is too long")
    if header is not None and header != message.session_id:
        raise HttpRefusal(400, "the header Acp-Session-Id differs from the session of the message")
    if header is None and message.method in _NEEDS_SESSION_HEADER:
        raise HttpRefusal(400, "the header Acp-Session-Id is missing")


def _trace_headers(request: HttpRequest) -> dict[str, str]:
    headers = {name: request.header(name) for name in (TRACEPARENT, TRACESTATE)}
    return valid_trace(headers) if headers[TRACEPARENT] else {}


def _is_error(frame: bytes) -> bool:
    return "error" in msgspec.json.decode(frame)
