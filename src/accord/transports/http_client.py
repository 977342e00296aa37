"""The client's end of an HTTP connection: each frame is one request, and event streams bring frames.

Laws:

- Requests are made one after the other: frames arrive in the order in which they were sent.
- A response is matched by its id, on whatever stream it comes.
- The stream of a session is open before anything is sent for that session.
- The end of the connection's stream is the end of the connection. The end of a session's stream fails the requests that
  are open in that session; the next message opens it again.
- Where the server offers it (`resumption`), a stream that was cut is opened again and goes on after its last event, and a
  request that failed is made again with the same number, for some time; nobody above notices.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from http.cookiejar import CookieJar
from typing import Any

import msgspec

from accord.errors import ConnectionClosed
from accord.transports.event_stream import EventParser
from accord.transports.framing import FRAME_LIMIT
from accord.transports.http_messages import (
    CONNECTION_ID,
    EVENT_STREAM,
    JSON,
    LAST_EVENT_ID,
    RECEIVED,
    RESUME,
    SEQUENCE,
    SESSION_ID,
    MessageId,
    RoutedMessage,
    read_message,
    read_number,
)
from accord.transports.message_transport import MessageTransport
from accord.transports.plain_http import PlainHttp, is_plain
from accord.transports.resumption import Backoff
from accord.transports.transport import HIGH_WATER, Receiver
from accord.transports.websocket import RESUME_SECONDS, load_extra

log = logging.getLogger("accord.http")

_CONNECT_SECONDS = 20.0
_POST_SECONDS = 60.0
_CLOSE_SECONDS = 2.0
_SILENT_SECONDS = 45.0  # a server that can resume sends something at least every 15 seconds
_CONFIRM_BYTES = 32 * 1024
_ENDS_CONNECTION = (401, 403, 404, 410)
_PROXY_FAILED = (502, 504)
_FIRST_SECONDS = 10.0
_SHORT_SECONDS = 2.0  # for a server that has ended a stream: if it was a proxy, it is back soon
_MOMENT = 5.0
_OPENS_SESSION = ("session/load", "session/resume", "session/fork")
_QUOTED = 1000
_UNAUTHORIZED = 401
_UNAUTHORIZED_ADVICE = (
    ". Give a token of the server: Remote(url, token=...), or --token-file or ACCORD_TOKEN for `accord connect`"
)


class HttpTransport(MessageTransport):
    """A connection to a server; cookies are kept as long as it lasts."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        high_water: int = HIGH_WATER,
        resume_seconds: float = RESUME_SECONDS,
    ) -> None:
        super().__init__(high_water)
        self._url = url
        self._wanted_seconds = resume_seconds
        self._resume_seconds = 0.0
        """For how long to try again; 0 until the server has offered it."""
        self._sequence = 0
        self._headers = {"user-agent": "accord", **(headers or {})}
        self._frame_limit = frame_limit
        self._new_web: Callable[[], Any]
        self._web: Any = None
        """Makes the short requests. Each stream has its own: of three requests on one HTTP/2 connection, httpx lets one wait
        for its response until the others receive something."""
        self._failures: tuple[type[Exception], ...] = (OSError,)
        self._connection_id: str | None = None
        self._streams: dict[str | None, _Stream] = {}
        self._asked_in: dict[MessageId, str] = {}  # the server's requests, by session
        self._sent_in: dict[MessageId, str] = {}  # our requests, by session
        self._sender: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._last_events: dict[str | None, int] = {}
        self._confirmations: dict[str | None, int] = {}
        self._confirmer: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Begin to send and receive; the first frame, `initialize`, makes the connection."""
        self._check_not_closed()
        httpx = load_extra("httpx2")
        self._failures = (OSError, httpx.HTTPError, httpx.StreamError)
        cookies = CookieJar()  # all of them share it
        if is_plain(self._url):
            self._new_web = partial(PlainHttp, self._url, self._headers, cookies, _CONNECT_SECONDS, _POST_SECONDS)
        else:
            self._new_web = partial(
                httpx.AsyncClient,
                http2=True,
                headers=self._headers,
                cookies=cookies,
                verify=httpx.create_ssl_context() if self._url.startswith("https:") else True,
                timeout=httpx.Timeout(_POST_SECONDS, connect=_CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            )
        self._web = self._new_web()
        self._attach(receiver)
        self._room.set()
        self._sender = asyncio.create_task(self._send_all(), name="accord HTTP sender")

    def pause_receiving(self) -> None:
        super().pause_receiving()
        self._room.clear()

    def resume_receiving(self) -> None:
        super().resume_receiving()
        self._room.set()

    def _frame_waits(self) -> None:
        self._wake.set()

    async def _send_all(self) -> None:
        try:
            while self._frames or not self._is_closed:
                if not self._frames:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                frame = self._frames.popleft()
                if self._connection_id is None:
                    await self._initialize(frame)
                else:
                    await self._post(frame, read_message(frame))
                self._frame_sent(len(frame))
        except self._failures as error:
            self._lose(f"{self._url}: {_reason(error)}")

    async def _initialize(self, frame: bytes) -> None:
        headers = {"content-type": JSON, "accept": JSON}
        if self._wanted_seconds > 0:
            headers[RESUME] = secrets.token_urlsafe(16)
        response = await self._post_first(frame, headers)
        if response.status_code != 200:
            self._lose(_describe(self._url, response))
            return
        self._connection_id = response.headers.get(CONNECTION_ID)
        offered = read_number(response.headers.get(RESUME)) or 0
        self._resume_seconds = min(self._wanted_seconds, offered)
        if self._connection_id is not None:
            self._open_stream(None)
        self._deliver([response.content.strip().replace(b"\n", b" ")])

    async def _post_first(self, frame: bytes, headers: Mapping[str, str]) -> Any:
        """The response to `initialize`. A request that was cut is made again: a server knows it by the value of RESUME."""
        absent = (ConnectionRefusedError, load_extra("httpx2").ConnectError)
        backoff = None
        while True:
            try:
                return await self._web.post(self._url, content=frame, headers=headers)
            except self._failures as error:
                is_absent = backoff is None and isinstance(error, absent)
                if is_absent or self._wanted_seconds <= 0 or self._is_closed:
                    raise
                backoff = backoff or Backoff(min(_FIRST_SECONDS, self._wanted_seconds))
                if not await backoff.wait():
                    raise

    async def _post(self, frame: bytes, message: RoutedMessage) -> None:
        session_id = message.session_id
        if message.is_response:
            session_id = self._asked_in.pop(message.id, None)
        headers = {"content-type": JSON, CONNECTION_ID: self._connection_id}
        if self._resume_seconds:
            self._sequence += 1
            headers[SEQUENCE] = str(self._sequence)
        if session_id is not None:
            headers[SESSION_ID] = session_id
            stream = self._open_stream(session_id)
            await stream.ready.wait()
            if message.is_request:
                if stream.end_reason is not None and message.method not in _OPENS_SESSION:
                    self._fail_request(message.id, stream.end_reason)  # its response would have nowhere to come
                    return
                self._sent_in[message.id] = session_id
        response = await self._post_again(frame, headers)
        if response.status_code == 404 and message.method in _OPENS_SESSION and headers.pop(SESSION_ID, None):
            response = await self._post_again(frame, headers)
        if response.status_code in _ENDS_CONNECTION:
            self._lose(_describe(self._url, response))
        elif response.is_error or response.is_redirect:
            self._fail(message, response)
        elif response.status_code == 200 and response.content:
            self._deliver([response.content.strip().replace(b"\n", b" ")])

    async def _post_again(self, frame: bytes, headers: Mapping[str, Any]) -> Any:
        """The response; where the server can resume, the request is made until there is one, or no more time."""
        backoff = None
        while True:
            failure: Exception | None = None
            response: Any = None
            try:
                response = await self._web.post(self._url, content=frame, headers=headers)
            except self._failures as error:
                failure = error
            if failure is None and response.status_code not in _PROXY_FAILED:
                return response
            if self._resume_seconds and not self._is_closed:
                backoff = backoff or Backoff(self._resume_seconds)
                if await backoff.wait():
                    continue
            if failure is not None:
                raise failure
            return response

    def _fail(self, message: RoutedMessage, response: Any) -> None:
        if message.is_request:
            self._fail_request(
                message.id, _describe(self._url, response), {"status": response.status_code, "body": _quote(response)}
            )
        else:
            log.warning("a message was not accepted: %s", _describe(self._url, response))

    def _fail_request(self, id: MessageId, reason: str, data: Any = None) -> None:
        self._sent_in.pop(id, None)
        error = {"code": -32603, "message": reason, **({} if data is None else {"data": data})}
        self._deliver([msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": error})])

    def _open_stream(self, session_id: str | None) -> _Stream:
        stream = self._streams.get(session_id)
        if stream is None:
            stream = self._streams[session_id] = _Stream()
            stream.task = asyncio.create_task(self._read(session_id, stream), name="accord event stream")
        return stream

    async def _read(self, session_id: str | None, stream: _Stream) -> None:
        reason = "the stream ended"
        try:
            reason = await self._read_until_lost(session_id, stream)
        finally:
            stream.end_reason = f"the stream of the session ended: {reason}"
            stream.ready.set()
            if self._streams.get(session_id) is stream:
                del self._streams[session_id]
        if session_id is None:
            self._lose(f"{self._url}: {reason}")
        else:
            for id, session in list(self._sent_in.items()):
                if session == session_id:
                    self._fail_request(id, stream.end_reason)

    async def _read_until_lost(self, session_id: str | None, stream: _Stream) -> str:
        """Deliver what comes, and open the stream again when it is cut, as long as the server can resume; why it ended."""
        backoff: Backoff | None = None
        while True:
            stream.begin()
            try:
                reason = await self._read_events(session_id, stream)
            except self._failures as error:
                reason = _reason(error)
            if not self._resume_seconds or stream.is_refused or self._is_closed:
                return reason
            if backoff is None or stream.has_worked:
                backoff = Backoff(
                    min(_SHORT_SECONDS, self._resume_seconds) if stream.is_ended else self._resume_seconds
                )
            if not await backoff.wait():
                return f"{reason} (tried again for {backoff.seconds:g} s)"

    async def _read_events(self, session_id: str | None, stream: _Stream) -> str:
        """Deliver what comes; why it ended."""
        headers = {"accept": EVENT_STREAM, CONNECTION_ID: self._connection_id}
        if session_id is not None:
            headers[SESSION_ID] = session_id
        if self._resume_seconds:
            headers[LAST_EVENT_ID] = str(self._last_events.get(session_id, 0))
        silence = _SILENT_SECONDS if self._resume_seconds else None
        async with aclosing(self._new_web()) as web, self._stream(web, headers, silence) as response:
            if response.status_code != 200:
                await response.aread()
                stream.is_refused = response.status_code not in (*_PROXY_FAILED, 409, 503)
                return _describe(self._url, response)
            stream.open()
            parser = EventParser(self._frame_limit)
            async for chunk in response.aiter_bytes():
                for result in parser.feed(chunk):
                    if isinstance(result, list):
                        self._note(result, session_id)
                    self._deliver(result)
                self._confirm(session_id, stream, parser.event_id, len(chunk))
                if self._delivery is not None and self._delivery.is_paused:
                    await self._room.wait()
        stream.is_ended = True
        return "the server ended the stream"

    def _stream(self, web: Any, headers: Mapping[str, Any], silence: float | None) -> Any:
        if isinstance(web, PlainHttp):
            return web.stream("GET", self._url, headers=headers, silence=silence)
        timeout = load_extra("httpx2").Timeout(_CONNECT_SECONDS, read=silence)
        return web.stream("GET", self._url, headers=headers, timeout=timeout)

    def _confirm(self, session_id: str | None, stream: _Stream, event_id: bytes | None, size: int) -> None:
        """Remember the last event, and tell the server of it from time to time, so that it need not keep what came before."""
        stream.unconfirmed += size
        number = read_number(None if event_id is None else event_id.decode("latin-1"))
        if number is None or not self._resume_seconds:
            return
        self._last_events[session_id] = number
        if stream.unconfirmed >= _CONFIRM_BYTES:
            stream.unconfirmed = 0
            self._confirmations[session_id] = number
            if self._confirmer is None or self._confirmer.done():
                self._confirmer = asyncio.create_task(self._send_confirmations(), name="accord confirmations")

    async def _send_confirmations(self) -> None:
        """Beside the other requests: one of those may wait until there is room."""
        while self._confirmations:
            session_id, number = self._confirmations.popitem()
            headers = {CONNECTION_ID: self._connection_id, RECEIVED: str(number)}
            if session_id is not None:
                headers[SESSION_ID] = session_id
            try:
                await self._web.post(self._url, headers=headers)
            except self._failures:
                self._confirmations.setdefault(session_id, number)
                await asyncio.sleep(1.0)  # the streams are opened again meanwhile, which confirms as well

    def _note(self, frames: list[bytes], session_id: str | None) -> None:
        """Remember which session the server's requests belong to, and open the streams of new sessions."""
        for frame in frames:
            if frame.find(b'"session/update"', 0, 100) >= 0:
                continue
            message = read_message(frame)
            if message.is_response:
                self._sent_in.pop(message.id, None)
                if message.result_session_id is not None:
                    self._open_stream(message.result_session_id)
            elif message.is_request:
                session = message.session_id or session_id
                if session is not None:
                    self._asked_in[message.id] = session

    def _deliver(self, event: Any) -> None:
        if self._delivery is not None:
            self._delivery.deliver(event)

    def _lose(self, reason: str) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._wake.set()
        if self._delivery is not None:
            kind = "not_started" if self._connection_id is None else "peer_closed"
            self._delivery.lose(ConnectionClosed(reason, kind=kind))

    async def _close(self) -> None:
        was_lost, self._is_closed = self._is_closed, True
        self._room.set()
        self._wake.set()
        if self._sender is not None:
            if not was_lost:
                await asyncio.wait((self._sender,), timeout=_CLOSE_SECONDS)
            readers = [stream.task for stream in self._streams.values()]  # the sender may have started one
            tasks = [task for task in (self._sender, self._confirmer, *readers) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._delete()
        self._deliver_close()

    async def _delete(self) -> None:
        with suppress(TimeoutError, *self._failures):
            async with asyncio.timeout(_CLOSE_SECONDS):
                if self._connection_id is not None:
                    await self._web.delete(self._url, headers={CONNECTION_ID: self._connection_id})
        with suppress(TimeoutError, *self._failures):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._web.aclose()


class _Stream:
    """A stream that is open, or opens: `ready` is set when the server has answered, whatever it said."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.unconfirmed = 0  # bytes
        self.end_reason: str | None = None
        """Why nobody reads it any more."""
        self.is_refused = False
        """Whether the server does not let this client read it."""
        self.is_ended = False
        """Whether the server has ended it, rather than something on the way."""
        self._opened_at: float | None = None

    def begin(self) -> None:
        self.is_ended = False
        self._opened_at = None

    def open(self) -> None:
        self.ready.set()
        self._opened_at = asyncio.get_running_loop().time()

    @property
    def has_worked(self) -> bool:
        """Whether it was open for more than a moment, so that it makes sense to begin to try again from the start."""
        return self._opened_at is not None and asyncio.get_running_loop().time() - self._opened_at > _MOMENT


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _describe(url: str, response: Any) -> str:
    status = f"{response.status_code} {response.reason_phrase}".rstrip()
    advice = _UNAUTHORIZED_ADVICE if response.status_code == _UNAUTHORIZED else ""
    return f"{url} answered {status}: {_quote(response)}".rstrip(": ") + advice


def _quote(response: Any) -> str:
    """The beginning of the answer: a server may send anything."""
    return response.text[:_QUOTED]
