"""One WebSocket of an ASGI web server, as a link of a connection.

Where the web server offers its socket (`SOCKET`), messages pass through that one. The handshake and the end are messages of
ASGI in any case.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from accord.transports.resumption import Link
from accord.transports.websocket_messages import BINARY, TEXT, Message

AsgiMessage: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
AsgiSend: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
SOCKET = "accord.websocket.socket"
"""An ASGI extension of WebSockets: a function that returns the Socket; called before the WebSocket is accepted."""

_NORMAL, _CUT = 1000, 1006

OnMessages: TypeAlias = Callable[[list[Message]], object]
OnRoom: TypeAlias = Callable[[], object]
OnInvalid: TypeAlias = Callable[[int, str], object]


class Socket(Link, Protocol):
    """A socket whose messages need not pass through ASGI."""

    def begin(self, on_messages: OnMessages, on_room: OnRoom, on_invalid: OnInvalid) -> None:
        """Deliver messages, tell when there is room again, and what is not allowed: nothing is delivered after that."""
        ...

    def end(self) -> None:
        """Deliver nothing more."""
        ...

    async def wait_refused(self) -> None:
        """If something was not allowed, wait until the client has left: it may not read the reason while it sends."""
        ...


class AsgiLink:
    """`is_final` says that the client will not come back; `ended` is set when nobody needs the WebSocket any more."""

    def __init__(self, receive: AsgiReceive, send: AsgiSend, socket: Socket | None = None) -> None:
        self.send = send
        self.ended = asyncio.Event()
        self.is_final = False
        self._receive = receive
        self._socket = socket
        self._unsent: deque[AsgiMessage] = deque()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._on_messages: OnMessages
        self._on_room: OnRoom
        self._on_end: Callable[[int], object]
        self._reader: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None

    def begin(
        self, on_messages: OnMessages, on_room: OnRoom, on_invalid: OnInvalid, on_end: Callable[[int], object]
    ) -> None:
        """Deliver messages to the first function, and to the last one the code with which the WebSocket ended."""
        self._on_messages, self._on_room, self._on_end = on_messages, on_room, on_end
        if self._socket is not None:
            self._socket.begin(on_messages, on_room, on_invalid)
        self._reader = asyncio.create_task(self._read(), name="accord WebSocket")

    @property
    def has_room(self) -> bool:
        return not self._unsent if self._socket is None else self._socket.has_room

    def write_frames(self, frames: list[bytes]) -> None:
        if self._socket is not None:
            self._socket.write_frames(frames)
        else:
            self._send_soon([{"type": "websocket.send", "text": frame.decode()} for frame in frames])

    def write_bytes(self, data: bytes) -> None:
        if self._socket is not None:
            self._socket.write_bytes(data)
        else:
            self._send_soon([{"type": "websocket.send", "bytes": data}])

    def pause_reading(self) -> None:
        if self._socket is not None:
            self._socket.pause_reading()
        else:
            self._may_read.clear()

    def resume_reading(self) -> None:
        if self._socket is not None:
            self._socket.resume_reading()
        else:
            self._may_read.set()

    async def stop(self) -> None:
        """Read and write nothing more; the WebSocket stays open."""
        if self._socket is not None:
            self._socket.end()
        tasks = [
            task for task in (self._reader, self._sender) if task is not None and task is not asyncio.current_task()
        ]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def close(self, code: int, reason: str, seconds: float, farewell: bytes | None = None) -> None:
        """Close the WebSocket within this time, after a last binary message if there is one."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(seconds):
                if farewell is not None and self._socket is not None:
                    self._socket.write_bytes(farewell)
                elif farewell is not None:
                    await self.send({"type": "websocket.send", "bytes": farewell})
                await self.send({"type": "websocket.close", "code": code, "reason": reason[:120]})
                if self._socket is not None:
                    await self._socket.wait_refused()

    async def end(self) -> None:
        """Use it no more."""
        self.ended.set()
        await self.stop()

    def _send_soon(self, messages: list[AsgiMessage]) -> None:
        self._unsent.extend(messages)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all(), name="accord WebSocket")
            self._sender.add_done_callback(_read_error)  # a write that fails: the reader tells

    async def _send_all(self) -> None:
        while self._unsent:
            await self.send(self._unsent[0])
            self._unsent.popleft()
        self._on_room()

    async def _read(self) -> None:
        while True:
            await self._may_read.wait()
            message = await self._next()
            if message["type"] == "websocket.disconnect":
                self._on_end(message.get("code", _NORMAL))
                return
            text, data = message.get("text"), message.get("bytes")
            if text is not None:
                self._on_messages([(TEXT, text.encode(errors="surrogatepass"))])
            elif data is not None:
                self._on_messages([(BINARY, data)])

    async def _next(self) -> AsgiMessage:
        try:
            return await self._receive()
        except OSError:
            return {"type": "websocket.disconnect", "code": _CUT}


def _read_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
