"""The server's end of one HTTP connection: requests bring frames, event streams take them away.

Laws:

- A frame goes to the stream of the session that it is about, or to the connection's own stream. The frames of one
  session all take the same stream, so they arrive in the order in which they were sent.
- A session has a stream of its own, which holds its frames until the client asks for it. A client that names an existing
  session for the first time without the session header does not know of such streams: that session's frames take the
  connection's stream.
- The answer to a request about a session takes that session's stream, if the client has opened it or was told of the
  session. This includes `session/load`: on another stream it could overtake the updates that it ends.
- What a client does not read is bounded in bytes and in time; past that the connection ends.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress

import msgspec

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.event_stream import EventBuffer
from accord.transports.frame_reader import FrameDelivery
from accord.transports.http_messages import MessageId, RoutedMessage, read_message
from accord.transports.tap import Tap, TappedReceiver
from accord.transports.transport import HIGH_WATER, Identity, Receiver

MIB = 1024 * 1024


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a server, for each connection but for `connections`.

    `body_bytes` is the most of one message, `unread_bytes` what waits for a client that does not read, and `unread_seconds`
    how long. A connection without any open stream ends after `idle_seconds`, and so does a stream for a session that
    nobody has named since.
    """

    connections: int = 10_000
    sessions: int = 1024
    body_bytes: int = 64 * MIB
    body_seconds: float = 60.0
    unread_bytes: int = 64 * MIB
    unread_seconds: float = 60.0
    idle_seconds: float = 60.0
    initialize_seconds: float = 30.0
    keep_alive_seconds: float = 15.0
    close_seconds: float = 2.0


def new_connection_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_urlsafe(32)


class HttpServerTransport:
    """A transport whose frames come and go with the requests of a client, which `confirms` the events it receives or not."""

    def __init__(
        self, limits: HttpLimits | None = None, *, confirms: bool = False, high_water: int = HIGH_WATER
    ) -> None:
        self.id = new_connection_id()
        self.identity: Identity | None = None
        """Who opened it."""
        self.confirms = confirms
        self.last_sequence = -1
        """The highest number of a message that was received; one that is sent again is not delivered again."""
        self.limits = limits or HttpLimits()
        self.batches_allowed: Callable[[], bool] = lambda: True
        """Whether the negotiated version has batches; set by whoever serves the connection."""
        self.tap: Tap | None = None
        """Sees the frames; set before `open`."""
        self._high_water = high_water
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._delivery: FrameDelivery | None = None
        self._opened = asyncio.Event()
        self._room = asyncio.Event()
        self._drained = asyncio.Event()
        self._unsent = 0
        self._is_send_paused = False
        self._is_closed = False
        self._connection_stream = EventBuffer(self._sent, confirms=confirms)
        self._session_streams: dict[str, EventBuffer] = {}
        self._streamless: set[str] = set()
        self._request_sessions: dict[MessageId, str] = {}
        self._initialize: tuple[MessageId, asyncio.Future[bytes]] | None = None
        self._used_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    async def open(self, receiver: Receiver) -> None:
        """Begin to receive."""
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        self._receiver = receiver
        self._delivery = FrameDelivery(receiver if self.tap is None else TappedReceiver(receiver, self.tap))
        self._room.set()
        self._opened.set()
        self._check_later()

    def send(self, frame: bytes) -> None:
        """Never blocks. Frames that no client has read count as unsent."""
        if self._receiver is None:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        if self._is_closed:
            return
        if self.tap is not None:
            self.tap.sent(frame)
        message = read_message(frame)
        if self._initialize is not None and message.is_response and message.id == self._initialize[0]:
            answer = self._initialize[1]
            self._initialize = None
            if not answer.done():
                answer.set_result(frame)
            return
        self._stream_for(message).put(frame)
        self._unsent += len(frame)
        if self._unsent > self._high_water:
            self._over_high_water(self._receiver)

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed; requests wait for their status."""
        if self._delivery is not None:
            self._delivery.pause()
            self._room.clear()

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        if self._delivery is not None:
            self._delivery.resume()
            self._room.set()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` that were not passed to the web server."""
        return self._unsent

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def aclose(self) -> None:
        """Clients that read get what is left, within a time limit; then all streams end. Safe to call twice."""
        if not self._is_closed:
            self._is_closed = True
            await self._drain()
            self._release()
        if self._delivery is not None and not self._delivery.is_closed:
            self._delivery.close(ConnectionClosed("closed by this side", kind="closed_here"))

    async def initialize(self, frame: bytes, message: RoutedMessage) -> bytes:
        """Deliver the first request; its response. TimeoutError, or ConnectionClosed if it ends before that."""
        async with asyncio.timeout(self.limits.initialize_seconds):
            await self._opened.wait()
            answer: asyncio.Future[bytes] = self._loop.create_future()
            self._initialize = (message.id, answer)
            self._deliver([frame])
            return await answer

    def receive(self, frame: bytes, messages: list[RoutedMessage], session_id: str | None) -> None:
        """Deliver a frame that came with this session header."""
        self._used_at = self._loop.time()
        for message in messages:
            self._expect(message, session_id)
        self._deliver([frame])

    async def wait_for_room(self) -> None:
        """Returns when frames are not held back; TimeoutError if that takes too long."""
        if self._room.is_set():
            return
        async with asyncio.timeout(self.limits.unread_seconds):
            await self._room.wait()

    def find_stream(self, session_id: str | None) -> EventBuffer:
        """The stream of a session, or the connection's own; LookupError above the limit of sessions."""
        return self._connection_stream if session_id is None else self._session_stream(session_id)

    def open_stream(self, session_id: str | None, stream: EventBuffer, last_event: int | None) -> int:
        """Let a client read it; the number to read with. LookupError if events after its last one are not kept."""
        self._used_at = self._loop.time()
        reader = stream.attach(last_event)
        stream.is_known = stream.is_known or session_id is None or session_id in self._streamless
        return reader

    def close_stream(self, session_id: str | None, stream: EventBuffer, reader: int) -> None:
        """The client reads it no more; frames that come meanwhile wait for the next one."""
        self._used_at = self._loop.time()
        stream.detach(reader)
        self._drained.set()
        is_idle = not stream.has_reader and stream.is_empty and not stream.was_read
        if session_id is not None and is_idle and self._session_streams.get(session_id) is stream:
            del self._session_streams[session_id]

    def confirm(self, session_id: str | None, last_event: int) -> None:
        """The client has received the events of a stream up to this one."""
        self._used_at = self._loop.time()
        stream = self._connection_stream if session_id is None else self._session_streams.get(session_id)
        if stream is not None:
            stream.confirm(last_event)

    def end_input(self, reason: str) -> None:
        """The client will send nothing more, or is not listened to: the turns end, answers are still sent."""
        if self._delivery is not None:
            self._delivery.end(ConnectionClosed(reason))

    def lose(self, reason: str, *, is_overload: bool = False) -> None:
        """The client is gone: everything ends now."""
        if self._is_closed:
            return
        self._is_closed = True
        for stream in (self._connection_stream, *self._session_streams.values()):
            stream.drop()
        self._release()
        if self._delivery is not None:
            self._delivery.lose(ConnectionClosed(reason, kind="overloaded" if is_overload else "peer_closed"))

    def _deliver(self, event: list[bytes] | FrameRejected) -> None:
        assert self._delivery is not None
        self._delivery.deliver(event)

    def _expect(self, message: RoutedMessage, header: str | None) -> None:
        """Decide where frames about the message's session go, if this is the first that names it."""
        session_id = message.session_id
        if session_id is None:
            return
        if session_id not in self._session_streams and session_id not in self._streamless:
            if header is None:
                self._streamless.add(session_id)
            else:
                self._session_stream(session_id)
        stream = self._session_streams.get(session_id)
        if stream is not None:
            stream.is_known = True
            if message.is_request and session_id not in self._streamless:
                self._request_sessions[message.id] = session_id

    def _stream_for(self, message: RoutedMessage) -> EventBuffer:
        if message.is_response:
            return self._stream_for_response(message)
        session_id = message.session_id
        if session_id is None or session_id in self._streamless:
            return self._connection_stream
        try:
            stream = self._session_stream(session_id)
        except LookupError:
            return self._connection_stream
        stream.is_known = True
        return stream

    def _stream_for_response(self, message: RoutedMessage) -> EventBuffer:
        if message.result_session_id is not None and message.result_session_id not in self._streamless:
            with suppress(LookupError):
                stream = self._session_stream(message.result_session_id)
                stream.is_known = stream.is_expected = True
        stream = self._session_streams.get(self._request_sessions.pop(message.id, ""))
        return stream if stream is not None and stream.is_expected else self._connection_stream

    def _session_stream(self, session_id: str) -> EventBuffer:
        stream = self._session_streams.get(session_id)
        if stream is None:
            if len(self._session_streams) >= self.limits.sessions and not self._forget_stream():
                raise LookupError("too many sessions on one connection")
            stream = self._session_streams[session_id] = EventBuffer(self._sent, confirms=self.confirms)
        return stream

    def _forget_stream(self) -> bool:
        """Make room for another session; returns whether there was a stream that nobody reads or has to read."""
        for session_id, stream in self._session_streams.items():
            if not stream.has_reader and stream.is_empty:
                del self._session_streams[session_id]
                return True
        return False

    def _over_high_water(self, receiver: Receiver) -> None:
        if self._unsent > self.limits.unread_bytes:
            reason = f"the client does not read: {self.limits.unread_bytes} bytes wait for it"
            self._loop.call_soon(lambda: self.lose(reason, is_overload=True))
        if not self._is_send_paused:
            self._is_send_paused = True
            receiver.send_paused()

    def _sent(self, size: int) -> None:
        self._unsent -= size
        self._used_at = self._loop.time()
        self._drained.set()
        if self._is_send_paused and self._unsent <= self._high_water // 4 and not self._is_closed:
            self._is_send_paused = False
            if self._receiver is not None:
                self._receiver.send_resumed()

    async def _drain(self) -> None:
        streams = (self._connection_stream, *self._session_streams.values())
        for stream in streams:
            if not stream.has_reader:
                stream.drop()
            stream.end()
        try:
            async with asyncio.timeout(self.limits.close_seconds):
                while any(stream.has_reader and not stream.is_empty for stream in streams):
                    self._drained.clear()
                    await self._drained.wait()
        except TimeoutError:
            for stream in streams:
                stream.drop()

    def _release(self) -> None:
        self._room.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._initialize is not None:
            answer = self._initialize[1]
            self._initialize = None
            if not answer.done():
                answer.set_exception(ConnectionClosed("the connection ended"))
                answer.exception()  # whoever waits may be gone

    def _check_later(self) -> None:
        seconds = min(self.limits.unread_seconds, self.limits.idle_seconds) / 4
        self._timer = self._loop.call_later(seconds, self._check)

    def _check(self) -> None:
        now = self._loop.time()
        streams = (self._connection_stream, *self._session_streams.values())
        if any(not stream.is_empty and now - stream.changed_at > self.limits.unread_seconds for stream in streams):
            self.lose(f"the client has not read a stream for {self.limits.unread_seconds:g} s", is_overload=True)
        elif not any(stream.has_reader for stream in streams) and now - self._used_at > self.limits.idle_seconds:
            self.lose(f"the client had no stream open for {self.limits.idle_seconds:g} s")
        else:
            self._end_unknown_streams(now)
            self._check_later()

    def _end_unknown_streams(self, now: float) -> None:
        for session_id, stream in list(self._session_streams.items()):
            if not stream.is_known and now - stream.changed_at > self.limits.idle_seconds:
                del self._session_streams[session_id]
                stream.end()
