"""The server's end of a WebSocket: one text message for each frame, all sessions on one socket.

It speaks ASGI, so any web server can be below it. Binary messages are ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import frame_too_long
from accord.transports.http_messages import CONNECTION_ID, is_batch, read_messages
from accord.transports.http_server import HttpLimits, new_connection_id
from accord.transports.message_transport import MessageTransport
from accord.transports.transport import HIGH_WATER, Identity, Receiver

AsgiMessage: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
AsgiSend: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

NORMAL, GOING_AWAY, PROTOCOL_ERROR, POLICY = 1000, 1001, 1002, 1008


class WebSocketServerTransport(MessageTransport):
    """A transport over a WebSocket that a client has asked for; opening it accepts."""

    def __init__(
        self, receive: AsgiReceive, send: AsgiSend, limits: HttpLimits | None = None, *, high_water: int = HIGH_WATER
    ) -> None:
        super().__init__(high_water)
        self.id = new_connection_id()
        self.identity: Identity | None = None
        """Who opened it."""
        self.limits = limits or HttpLimits()
        self.batches_allowed: Callable[[], bool] = lambda: True
        """Whether the negotiated version has batches; set by whoever serves the connection."""
        self._asgi_receive = receive
        self._asgi_send = send
        self._close_code = NORMAL
        self._close_reason = ""
        self._reader: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Accept, and begin to receive."""
        self._check_not_closed()
        headers = [(CONNECTION_ID.encode(), self.id.encode())]
        await self._asgi_send({"type": "websocket.accept", "headers": headers})
        self._reader = asyncio.create_task(self._read(self._attach(receiver)), name="accord WebSocket reader")
        self._sender = asyncio.create_task(self._write(), name="accord WebSocket writer")

    def end_input(self, reason: str) -> None:
        """The client is not listened to any more: the turns end, answers are still sent, then it closes with 1001."""
        self._close_code, self._close_reason = GOING_AWAY, reason
        if self._delivery is not None:
            self._delivery.end(ConnectionClosed(reason))

    def lose(self, reason: str) -> None:
        """The client is not served any more: everything ends now, and the WebSocket closes with 1008."""
        self._close_code, self._close_reason = POLICY, reason
        self._frames.clear()
        if self._delivery is not None:
            self._delivery.lose(ConnectionClosed(reason))

    async def _read(self, delivery: FrameDelivery) -> None:
        try:
            async with asyncio.timeout(self.limits.initialize_seconds):
                frame = await self._next_frame()
            if frame is not None and not _is_initialize(frame):
                self._refuse(delivery, PROTOCOL_ERROR, "the first message must be an initialize request")
                return
            while frame is not None:
                self._deliver(delivery, frame)
                if delivery.is_paused:
                    await self._room.wait()
                frame = await self._next_frame()
        except TimeoutError:
            self._refuse(delivery, POLICY, f"no initialize within {self.limits.initialize_seconds:g} s")
            return
        except OSError as error:
            self._is_closed = True
            delivery.lose(ConnectionClosed(f"the WebSocket failed: {error}"))
            return
        self._is_closed = True
        delivery.lose(ConnectionClosed("the client closed the WebSocket"))

    async def _next_frame(self) -> bytes | None:
        """The next text message; None at the end."""
        while True:
            message = await self._asgi_receive()
            if message["type"] == "websocket.disconnect":
                return None
            text = message.get("text")
            if text is not None:
                return text.encode(errors="surrogatepass")

    def _deliver(self, delivery: FrameDelivery, frame: bytes) -> None:
        if len(frame) > self.limits.body_bytes:
            delivery.deliver(frame_too_long(self.limits.body_bytes))
        elif is_batch(frame) and not self.batches_allowed():
            delivery.deliver(FrameRejected("this version of the protocol has no batches", -32600))
        elif frame := frame.strip():
            delivery.deliver([frame.replace(b"\n", b" ") if b"\n" in frame else frame])

    def _refuse(self, delivery: FrameDelivery, code: int, reason: str) -> None:
        self._close_code, self._close_reason = code, reason
        delivery.end(ConnectionClosed(reason))

    async def _write(self) -> None:
        try:
            await self._send_frames()
        except OSError:
            self._frames.clear()  # the reader tells

    async def _send_frame(self, frame: bytes) -> None:
        await self._asgi_send({"type": "websocket.send", "text": frame.decode()})

    def _readers(self) -> list[asyncio.Task[None]]:
        return [] if self._reader is None else [self._reader]

    async def _close(self) -> None:
        if not await self._end_tasks(self._sender, self.limits.close_seconds):
            await self._send_close()
        self._deliver_close()

    async def _send_close(self) -> None:
        message = {"type": "websocket.close", "code": self._close_code, "reason": self._close_reason[:120]}
        try:
            async with asyncio.timeout(self.limits.close_seconds):
                await self._asgi_send(message)
        except (OSError, TimeoutError):
            pass


def _is_initialize(frame: bytes) -> bool:
    if is_batch(frame):
        return False
    try:
        return read_messages(frame)[0].is_initialize
    except ValueError:
        return False
