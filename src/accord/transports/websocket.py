"""The client's end of a WebSocket: one text message for each frame, all sessions on one socket."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameDelivery
from accord.transports.framing import FRAME_LIMIT
from accord.transports.message_transport import MessageTransport
from accord.transports.transport import HIGH_WATER, Receiver

_OPEN_SECONDS = 20.0
_CLOSE_SECONDS = 2.0


class WebSocketRefused(ConnectionClosed):
    """There is a server, but it does not offer a WebSocket there."""


class WebSocketTransport(MessageTransport):
    """A connection to a server. Opening it raises WebSocketRefused where the server offers no WebSocket."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        high_water: int = HIGH_WATER,
    ) -> None:
        super().__init__(high_water)
        self._url = url
        self._headers = dict(headers or {})
        self._frame_limit = frame_limit
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Connect, and begin to receive."""
        self._check_not_closed()
        self._socket = await self._connect()
        self._reader = asyncio.create_task(self._read(self._attach(receiver)), name="accord WebSocket reader")
        self._sender = asyncio.create_task(self._write(), name="accord WebSocket writer")

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

    async def _write(self) -> None:
        with suppress(OSError, load_extra("websockets.exceptions").ConnectionClosed):  # the reader tells
            await self._send_frames()

    async def _send_frame(self, frame: bytes) -> None:
        await self._socket.send(frame, text=True)

    def _readers(self) -> list[asyncio.Task[None]]:
        return [] if self._reader is None else [self._reader]

    async def _close(self) -> None:
        await self._end_tasks(self._sender, _CLOSE_SECONDS)
        if self._socket is not None:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(2 * _CLOSE_SECONDS):
                    await self._socket.close()
        self._deliver_close()


def load_extra(module: str) -> Any:
    """A module of the extra `http`; ImportError says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError("URLs of agents need the extra `http`: pip install 'accord[http]'") from None
