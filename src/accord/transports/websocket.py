"""The client's end of a WebSocket: one text message for each frame, all sessions on one socket."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import FRAME_LIMIT
from accord.transports.transport import HIGH_WATER, Receiver

_OPEN_SECONDS = 20.0
_CLOSE_SECONDS = 2.0


class WebSocketRefused(ConnectionClosed):
    """There is a server, but it does not offer a WebSocket there."""


class WebSocketTransport:
    """A connection to a server. Opening it raises WebSocketRefused where the server offers no WebSocket."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        high_water: int = HIGH_WATER,
    ) -> None:
        self._url = url
        self._headers = dict(headers or {})
        self._frame_limit = frame_limit
        self._high_water = high_water
        self._socket: Any = None
        self._receiver: Receiver | None = None
        self._delivery: FrameDelivery | None = None
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._is_send_paused = False
        self._is_closed = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._close_task: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Connect, and begin to receive."""
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        self._socket = await self._connect()
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
        """Bytes accepted by `send()` that were not passed to the socket."""
        return self._unsent

    async def aclose(self) -> None:
        """Sends unsent bytes within a time limit, then closes. Safe to call twice, and from any task."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self._close(), name="accord WebSocket closing")
        await asyncio.shield(self._close_task)

    async def _connect(self) -> Any:
        connect = load_extra("websockets.asyncio.client").connect
        errors = load_extra("websockets.exceptions")
        try:
            return await connect(
                self._url,
                additional_headers=self._headers,
                user_agent_header="accord",
                compression=None,  # costs more time than it saves, but for slow lines
                max_size=self._frame_limit,
                open_timeout=_OPEN_SECONDS,
                close_timeout=_CLOSE_SECONDS,
            )
        except errors.InvalidHandshake as error:
            raise WebSocketRefused(f"{self._url} offers no WebSocket: {error}", kind="not_started") from error
        except (OSError, TimeoutError, errors.WebSocketException) as error:
            raise ConnectionClosed(f"cannot connect to {self._url}: {error}", kind="not_started") from error

    async def _read(self, delivery: FrameDelivery) -> None:
        closed = load_extra("websockets.exceptions").ConnectionClosed
        try:
            while True:
                message = await self._socket.recv()
                if isinstance(message, str) and (frame := message.encode().strip()):
                    delivery.deliver([frame.replace(b"\n", b" ") if b"\n" in frame else frame])
                if delivery.is_paused:
                    await self._room.wait()
        except (OSError, closed) as error:
            self._is_closed = True
            self._wake.set()
            delivery.lose(ConnectionClosed(f"the server closed the WebSocket: {error}"))

    async def _write(self, receiver: Receiver) -> None:
        closed = load_extra("websockets.exceptions").ConnectionClosed
        with suppress(OSError, closed):  # the reader tells
            while self._frames or not self._is_closed:
                if not self._frames:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                frame = self._frames.popleft()
                await self._socket.send(frame, text=True)
                self._unsent -= len(frame)
                if self._is_send_paused and self._unsent <= self._high_water // 4:
                    self._is_send_paused = False
                    if not self._is_closed:
                        receiver.send_resumed()

    async def _close(self) -> None:
        was_lost, self._is_closed = self._is_closed, True
        self._room.set()
        self._wake.set()
        if self._tasks:
            if not was_lost:
                await asyncio.wait(self._tasks[1:], timeout=_CLOSE_SECONDS)
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
        if self._socket is not None:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(2 * _CLOSE_SECONDS):
                    await self._socket.close()
        if self._delivery is not None and not self._delivery.is_closed:
            self._delivery.close(ConnectionClosed("closed by this side", kind="closed_here"))


def load_extra(module: str) -> Any:
    """A module of the extra `http`; ImportError says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError("URLs of agents need the extra `http`: pip install 'accord[http]'") from None
