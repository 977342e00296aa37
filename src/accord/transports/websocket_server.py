"""The server's end of a WebSocket: one text message for each frame, all sessions on one socket.

It speaks ASGI, so any web server can be below it. Binary messages are ignored, but for those of `resumption`. A connection
whose client can resume outlives its WebSocket: another one that names it takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import frame_too_long
from accord.transports.http_messages import CONNECTION_ID, RECEIVED, RESUME, is_batch, read_messages
from accord.transports.http_server import HttpLimits, new_connection_id
from accord.transports.resumption import END, LinkedTransport
from accord.transports.tap import Tap, TappedReceiver
from accord.transports.transport import HIGH_WATER, Identity, Receiver
from accord.transports.websocket_messages import write_messages

AsgiMessage: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
AsgiSend: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
AsgiWrite: TypeAlias = Callable[[bytes], Awaitable[None]]
WRITE = "accord.websocket.write"
"""An ASGI extension: a function that writes bytes to the socket of a WebSocket which is open, any number of messages."""

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
        self._confirm_seconds = self.limits.unread_seconds
        self._opened = asyncio.Event()
        self._link: _ServerLink | None = None
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

    async def serve(
        self, receive: AsgiReceive, send: AsgiSend, received: int = 0, write: AsgiWrite | None = None
    ) -> None:
        """Accept a WebSocket of a client that has received so many frames, and use it until it ends or is replaced."""
        await self._opened.wait()
        delivery = self._delivery
        if delivery is None or self._is_closed:
            await send({"type": "websocket.close"})
            return
        while (previous := self._link) is not None:
            await previous.end()
            if self._link is previous:
                self._link = None
        if self._timer is not None:
            self._timer.cancel()
        self._sent.confirm(received)
        link = self._link = _ServerLink(receive, send, write, self.limits.unread_seconds)
        try:
            await send({"type": "websocket.accept", "headers": self._accept_headers()})
            link.start(self._read(link, delivery), self._write_in_time(link, delivery, received))
            await link.ended.wait()
        except OSError:
            pass  # gone before it began
        finally:
            await link.end()
            if self._link is link:
                self._link = None
                self._wait_for_another(delivery)

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

    async def _write_in_time(self, link: _ServerLink, delivery: FrameDelivery, received: int) -> None:
        try:
            await self._write(link, received)
        except TimeoutError:
            self._lose(delivery, f"the client has not read for {self.limits.unread_seconds:g} s")
            link.ended.set()

    async def _read(self, link: _ServerLink, delivery: FrameDelivery) -> None:
        reason = "the client closed the WebSocket"
        try:
            if not await self._read_frames(link, delivery):
                return
        except TimeoutError:
            self._refuse(delivery, POLICY, f"no initialize within {self.limits.initialize_seconds:g} s")
            return
        except (OSError, ValueError) as error:
            reason = f"the WebSocket failed: {error}"
        if not self._is_resumable or link.is_final:
            self._lose(delivery, reason)
        link.ended.set()

    async def _read_frames(self, link: _ServerLink, delivery: FrameDelivery) -> bool:
        """Deliver frames until the WebSocket ends; returns False if this side ends it."""
        async with asyncio.timeout(self.limits.initialize_seconds if self._received == 0 else None):
            frame = await self._next_frame(link)
        if frame is not None and self._received == 0 and not _is_initialize(frame):
            self._refuse(delivery, PROTOCOL_ERROR, "the first message must be an initialize request")
            return False
        while frame is not None:
            self._frame_received(len(frame))
            self._deliver(delivery, frame)
            if delivery.is_paused:
                await self._room.wait()
            frame = await self._next_frame(link)
        return True

    async def _next_frame(self, link: _ServerLink) -> bytes | None:
        """The next text message; None at the end."""
        while True:
            message = await link.receive()
            if message["type"] == "websocket.disconnect":
                link.is_final = link.is_final or message.get("code", NORMAL) not in _CUT
                return None
            text, data = message.get("text"), message.get("bytes")
            if text is not None:
                return text.encode(errors="surrogatepass")
            if data == END:
                link.is_final = True
            elif data is not None:
                self._bytes_received(data)

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

    async def _close(self) -> None:
        was_lost, self._is_closed = self._is_closed, True
        self._opened.set()
        self._room.set()
        self._wake.set()
        if self._timer is not None:
            self._timer.cancel()
        link = self._link
        if link is not None:
            if not was_lost:
                await link.flush(self.limits.close_seconds)
            await link.stop()
            if not was_lost:
                await self._send_close(link)
            link.ended.set()
        self._deliver_close()

    async def _send_close(self, link: _ServerLink) -> None:
        message = {"type": "websocket.close", "code": self._close_code, "reason": self._close_reason[:120]}
        try:
            async with asyncio.timeout(self.limits.close_seconds):
                if self._is_resumable:
                    await link.send_bytes(END)
                await link.send(message)
        except (OSError, TimeoutError):
            pass


class _ServerLink:
    """A WebSocket with the tasks that use it. `is_final` says that its client will not come back."""

    def __init__(
        self, receive: AsgiReceive, send: AsgiSend, write: AsgiWrite | None, seconds: float | None = None
    ) -> None:
        self.receive = receive
        self.send = send
        self._write = write
        self._seconds = seconds
        self.ended = asyncio.Event()
        self.is_final = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *work: Any) -> None:
        self._tasks = [asyncio.create_task(each, name="accord WebSocket") for each in work]
        self._tasks[-1].add_done_callback(_read_error)  # a write that fails: the reader tells

    async def send_frames(self, frames: list[bytes]) -> None:
        """Send each as a text message; TimeoutError if the client does not take them in time."""
        async with asyncio.timeout(self._seconds):
            if self._write is not None:
                await self._write(write_messages(frames))
                return
            for frame in frames:
                await self.send({"type": "websocket.send", "text": frame.decode()})

    async def send_bytes(self, data: bytes) -> None:
        await self.send({"type": "websocket.send", "bytes": data})

    async def flush(self, seconds: float) -> None:
        """Wait until everything is written, as long as this takes no longer."""
        if self._tasks:
            await asyncio.wait(self._tasks[-1:], timeout=seconds)

    async def stop(self) -> None:
        """End its tasks; the WebSocket stays open."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def end(self) -> None:
        """Use it no more."""
        self.ended.set()
        await self.stop()


def _read_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()


def _is_initialize(frame: bytes) -> bool:
    if is_batch(frame):
        return False
    try:
        return read_messages(frame)[0].is_initialize
    except ValueError:
        return False
