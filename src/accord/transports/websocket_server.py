"""The server's end of a WebSocket: one text message for each frame, all sessions on one socket.

It speaks ASGI, so any web server can be below it. Binary messages are ignored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import frame_too_long
from accord.transports.http_messages import CONNECTION_ID, is_batch, read_messages
from accord.transports.http_server import HttpLimits, new_connection_id
from accord.transports.transport import HIGH_WATER, Receiver

AsgiMessage: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
AsgiSend: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

NORMAL, GOING_AWAY, PROTOCOL_ERROR, POLICY = 1000, 1001, 1002, 1008


class WebSocketServerTransport:
    """A transport over a WebSocket that a client has asked for; opening it accepts."""

    def __init__(
        self, receive: AsgiReceive, send: AsgiSend, limits: HttpLimits | None = None, *, high_water: int = HIGH_WATER
    ) -> None:
        self.id = new_connection_id()
        self.limits = limits or HttpLimits()
        self.batches_allowed: Callable[[], bool] = lambda: True
        """Whether the negotiated version has batches; set by whoever serves the connection."""
        self._asgi_receive = receive
        self._asgi_send = send
        self._high_water = high_water
        self._receiver: Receiver | None = None
        self._delivery: FrameDelivery | None = None
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._is_send_paused = False
        self._is_closed = False
        self._close_code = NORMAL
        self._close_reason = ""
        self._room = asyncio.Event()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._close_task: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Accept, and begin to receive."""
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        headers = [(CONNECTION_ID.encode(), self.id.encode())]
        await self._asgi_send({"type": "websocket.accept", "headers": headers})
        self._receiver = receiver
        self._delivery = FrameDelivery(receiver)
        self._room.set()
        self._tasks = [
            asyncio.create_task(self._read(self._delivery), name="accord WebSocket reader"),
            asyncio.create_task(self._write(receiver), name="accord WebSocket writer"),
        ]

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        if self._receiver is None:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        if self._is_closed:
            return
        self._frames.append(frame)
        self._unsent += len(frame)
        self._wake.set()
        if self._unsent > self._high_water and not self._is_send_paused:
            self._is_send_paused = True
            self._receiver.send_paused()

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
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

    async def aclose(self) -> None:
        """Sends unsent bytes within a time limit, then closes. Safe to call twice, and from any task."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self._close(), name="accord WebSocket closing")
        await asyncio.shield(self._close_task)

    def end_input(self, reason: str) -> None:
        """The client is not listened to any more: the turns end, answers are still sent, then it closes with 1001."""
        self._close_code, self._close_reason = GOING_AWAY, reason
        if self._delivery is not None:
            self._delivery.end(ConnectionClosed(reason))

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

    async def _write(self, receiver: Receiver) -> None:
        try:
            while not self._is_closed or self._frames:
                if not self._frames:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                frame = self._frames.popleft()
                await self._asgi_send({"type": "websocket.send", "text": frame.decode()})
                self._unsent -= len(frame)
                if self._is_send_paused and self._unsent <= self._high_water // 4:
                    self._is_send_paused = False
                    if not self._is_closed:
                        receiver.send_resumed()
        except OSError:
            self._frames.clear()  # the reader tells

    async def _close(self) -> None:
        is_lost, self._is_closed = self._is_closed, True
        self._room.set()
        self._wake.set()
        if not is_lost and self._tasks:
            await asyncio.wait(self._tasks[1:], timeout=self.limits.close_seconds)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if not is_lost:
            await self._send_close()
        if self._delivery is not None and not self._delivery.is_closed:
            self._delivery.close(ConnectionClosed("closed by this side", kind="closed_here"))

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
