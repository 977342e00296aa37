"""The server's end of a WebSocket: one text message for each frame, all sessions on one socket.

It speaks ASGI, so any web server can be below it. Binary messages are ignored, but for those of `resumption`. A connection
whose client can resume outlives its WebSocket: another one that names it takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.asgi_link import AsgiLink
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import frame_too_long
from accord.transports.http_messages import CONNECTION_ID, RECEIVED, RESUME, is_batch, read_messages
from accord.transports.http_server import HttpLimits, new_connection_id
from accord.transports.resumption import END, LinkedTransport
from accord.transports.tap import Tap, TappedReceiver
from accord.transports.transport import HIGH_WATER, Identity, Receiver
from accord.transports.websocket_messages import TEXT, Message

NORMAL, GOING_AWAY, PROTOCOL_ERROR, POLICY, INTERNAL_ERROR = 1000, 1001, 1002, 1008, 1011
_NEW_SECONDS = 10.0
_CUT = (1001, 1006, 1011, 1012, 1013, 1014)  # the socket ended, perhaps not the connection


class WebSocketServerTransport(LinkedTransport):
    """A connection of a client; `serve` gives it a WebSocket. With `is_resumable` it can have several, one at a time."""

    def __init__(
        self, limits: HttpLimits | None = None, *, is_resumable: bool = False, high_water: int = HIGH_WATER
    ) -> None:
        super().__init__(high_water)
        self.id = new_connection_id()
        self.identity: Identity | None = None
        """Who opened it."""
        self.limits = limits or HttpLimits()
        self.batches_allowed: Callable[[], bool] = lambda: True
        """Whether the negotiated version has batches; set by whoever serves the connection."""
        self.tap: Tap | None = None
        """Sees the frames; set before `open`."""
        self._is_resumable = is_resumable
        self._unread_seconds = self.limits.unread_seconds
        self._opened = asyncio.Event()
        self._asgi_link: AsgiLink | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._close_code = NORMAL
        self._close_reason = ""

    async def open(self, receiver: Receiver) -> None:
        """Begin to receive, with the first WebSocket."""
        self._check_not_closed()
        self._attach(receiver if self.tap is None else TappedReceiver(receiver, self.tap))
        self._opened.set()

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        if self.tap is not None and not self._is_closed:
            self.tap.sent(frame)
        super().send(frame)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_resumable(self) -> bool:
        """Whether the client may come back with another WebSocket."""
        return self._is_resumable and not self._is_closed

    def can_resume(self, received: int) -> bool:
        """Whether everything is there that a client has missed which has received so many frames."""
        try:
            self._sent.after(received)
        except LookupError:
            return False
        return self.is_resumable

    async def serve(self, link: AsgiLink, received: int = 0) -> None:
        """Accept a WebSocket of a client that has received so many frames, and use it until it ends or is replaced."""
        await self._opened.wait()
        delivery = self._delivery
        if delivery is None or self._is_closed:
            await link.send({"type": "websocket.close"})
            return
        while (previous := self._asgi_link) is not None:
            await previous.end()
            self._forget(previous)
        if self._timer is not None:
            self._timer.cancel()
        self._sent.confirm(received)
        self._asgi_link = link
        try:
            await link.send({"type": "websocket.accept", "headers": self._accept_headers()})
            self._use(link, delivery, received)
            await link.ended.wait()
        except OSError:
            pass  # gone before it began
        finally:
            await link.end()
            if self._forget(link):
                self._wait_for_another(delivery)

    def _use(self, link: AsgiLink, delivery: FrameDelivery, received: int) -> None:
        if self._received == 0:
            seconds = self.limits.initialize_seconds
            reason = f"no initialize within {seconds:g} s"
            self._timer = self._loop.call_later(seconds, self._refuse, delivery, POLICY, reason)
        link.begin(
            partial(self._receive, link, delivery),
            self._has_room,
            partial(self._refuse_messages, delivery),
            partial(self._ended, link, delivery),
        )
        self._begin(link, received)

    def _forget(self, link: AsgiLink) -> bool:
        """Returns whether it was the link in use."""
        if self._asgi_link is not link:
            return False
        self._asgi_link = None
        self._end()
        if self._timer is not None:
            self._timer.cancel()
        return True

    def end_input(self, reason: str) -> None:
        """The client is not listened to any more: the turns end, answers are still sent, then it closes with 1001."""
        self._close_code, self._close_reason = GOING_AWAY, reason
        if self._delivery is not None:
            self._delivery.end(ConnectionClosed(reason))

    def lose(self, reason: str, *, is_failure: bool = False) -> None:
        """The client is not served any more: everything ends now. The WebSocket closes with 1008, or 1011 for a failure here."""
        self._close_code, self._close_reason = INTERNAL_ERROR if is_failure else POLICY, reason
        self._frames.clear()
        if self._delivery is not None:
            self._delivery.lose(ConnectionClosed(reason))

    def _accept_headers(self) -> list[tuple[bytes, bytes]]:
        headers = {CONNECTION_ID: self.id}
        if self._is_resumable:
            headers |= {RESUME: f"{self.limits.idle_seconds:.0f}", RECEIVED: str(self._received)}
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    def _wait_for_another(self, delivery: FrameDelivery) -> None:
        if self.is_resumable:
            # A client that has not sent anything may not know that it can come back.
            seconds = self.limits.idle_seconds if self._received else min(self.limits.idle_seconds, _NEW_SECONDS)
            reason = f"the client did not come back within {seconds:g} s"
            self._timer = asyncio.get_running_loop().call_later(seconds, self._lose, delivery, reason)
        elif not self._is_closed:
            self._lose(delivery, "the WebSocket ended")

    def _not_read(self) -> None:
        if self._delivery is not None:
            self._lose(self._delivery, f"the client has not read for {self.limits.unread_seconds:g} s")
        if self._asgi_link is not None:
            self._asgi_link.ended.set()

    def _ended(self, link: AsgiLink, delivery: FrameDelivery, code: int) -> None:
        """The WebSocket has ended."""
        reason = "the client closed the WebSocket"
        if not self._is_resumable or link.is_final or code not in _CUT:
            self._lose(delivery, reason)
        link.ended.set()

    def _receive(self, link: AsgiLink, delivery: FrameDelivery, messages: list[Message]) -> None:
        frames: list[bytes] = []
        for opcode, data in messages:
            if opcode == TEXT:
                if self._received == 0 and not self._is_first(delivery, data):
                    return
                self._frame_received(len(data))
                self._add_frame(delivery, data, frames)
            elif data == END:
                link.is_final = True
            else:
                try:
                    self._bytes_received(data)
                except ValueError as error:
                    self._lose(delivery, f"the WebSocket failed: {error}")
                    link.ended.set()
                    return
        if frames:
            delivery.deliver(frames)

    def _is_first(self, delivery: FrameDelivery, frame: bytes) -> bool:
        if self._timer is not None:
            self._timer.cancel()
        if _is_initialize(frame):
            return True
        self._refuse(delivery, PROTOCOL_ERROR, "the first message must be an initialize request")
        return False

    def _add_frame(self, delivery: FrameDelivery, frame: bytes, frames: list[bytes]) -> None:
        """Append a frame to those that are delivered together; a refusal is delivered after those before it."""
        refused = None
        if len(frame) > self.limits.body_bytes:
            refused = frame_too_long(self.limits.body_bytes)
        elif is_batch(frame) and not self.batches_allowed():
            refused = FrameRejected("this version of the protocol has no batches", -32600)
        elif frame := frame.strip():
            frames.append(frame.replace(b"\n", b" ") if b"\n" in frame else frame)
        if refused is not None:
            if frames:
                delivery.deliver(frames.copy())
                frames.clear()
            delivery.deliver(refused)

    def _refuse_messages(self, delivery: FrameDelivery, code: int, reason: str) -> None:
        self._close_code, self._close_reason = code, reason
        self._end()
        delivery.lose(ConnectionClosed(f"the WebSocket failed: {reason}"))

    def _refuse(self, delivery: FrameDelivery, code: int, reason: str) -> None:
        self._close_code, self._close_reason = code, reason
        delivery.end(ConnectionClosed(reason))

    async def _close(self) -> None:
        was_lost, self._is_closed = self._is_closed, True
        self._opened.set()
        if self._timer is not None:
            self._timer.cancel()
        link = self._asgi_link
        if link is not None:
            if not was_lost:
                await self._send_rest()
            await link.stop()
            if not was_lost:
                farewell = END if self._is_resumable else None
                await link.close(self._close_code, self._close_reason, self.limits.close_seconds, farewell)
            link.ended.set()
        self._deliver_close()

    async def _send_rest(self) -> None:
        """Send what waits, as long as that takes no longer than it may."""
        if self._link is None:
            return
        self._flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.close_seconds):
                await self._is_flushed.wait()


def _is_initialize(frame: bytes) -> bool:
    if is_batch(frame):
        return False
    try:
        return read_messages(frame)[0].is_initialize
    except ValueError:
        return False
