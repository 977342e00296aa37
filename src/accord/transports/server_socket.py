"""The sockets of Hypercorn: reads and waits are cheaper, and the messages of a WebSocket take a shorter way.

Hypercorn makes the handshake and the end. Between them, all that one read brings is delivered at once, without the tasks
and queues of Hypercorn, and messages are written at once. This module needs the extra `http`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.events import Event, RawData, Updated
from websockets.exceptions import PayloadTooBig, ProtocolError

from accord.transports.asgi_link import OnInvalid, OnMessages, OnRoom
from accord.transports.streams import BufferedReader
from accord.transports.websocket_messages import (
    BINARY,
    INVALID_DATA,
    TEXT,
    MessageReader,
    close_code,
    load_mask,
    write_messages,
)

_CLOSE, _PING, _PONG = 0x88, 0x89, 0x8A  # each with the bit that it is the last frame
_PONG_OPCODE = _PONG & 0x0F
_CONTROL_HEAD = 6  # with the mask
_CONTROL_SIZE = 125


class Server(TCPServer):
    """Serves one socket, as Hypercorn does, but for its waits.

    It would begin one with two tasks after each request, and keep a socket that its client has closed as long as an idle
    one, so that all descriptors could be used up.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.socket = ServerSocket(cast("asyncio.Transport", self.writer.transport))
        self._idle_since: float | None = self.loop.time()
        self._is_waiting = False
        self._has_ended = False

    async def _read_data(self) -> None:
        try:
            await super()._read_data()
        finally:
            self._has_ended = True
            await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._idle_since = self.loop.time() if event.idle else None
            if event.idle and not self._has_ended and not self._is_waiting:
                await cast("Any", self.idle_task).restart(self._task_group, self._idle_timeout)
        elif not isinstance(event, RawData) or event.data:
            await super().protocol_send(event)

    async def _idle_timeout(self) -> None:
        """End the socket when it is idle for too long, or the server stops. One wait is for several idle times."""
        self._is_waiting = True
        try:
            while self._idle_since is not None:
                begun = self._idle_since
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(begun + self.config.keep_alive_timeout):
                        await self.context.terminated.wait()
                if self._idle_since == begun or self.context.terminated.is_set():
                    break
            if self._idle_since is not None:
                await asyncio.shield(self._initiate_server_close())
        finally:
            self._is_waiting = False


class ServerSocket(BufferedReader, asyncio.Protocol):
    """Stands between a transport and the protocol that Hypercorn reads from, which hears of everything but messages."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._inner: Any = transport.get_protocol()
        self._messages: MessageSocket | None = None
        transport.set_protocol(self)

    def take_messages(self, limit: int) -> MessageSocket:
        """What comes from now on is not for Hypercorn, but messages up to this size. Nothing is read until `begin`."""
        self._messages = MessageSocket(self._transport, limit, self._inner.data_received)
        return self._messages

    def data_received(self, data: bytes) -> None:
        if self._messages is None:
            self._inner.data_received(data)
        else:
            self._messages.receive(data)

    def eof_received(self) -> bool | None:
        if self._messages is not None:
            self._messages.has_left.set()
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._messages is not None:
            self._messages.has_left.set()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._messages is not None:
            self._messages.pause_writing()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
        if self._messages is not None:
            self._messages.resume_writing()


class MessageSocket:
    """A WebSocket on a socket of Hypercorn, which gets the frame that closes it. Pings are answered here."""

    def __init__(self, transport: asyncio.Transport, limit: int, pass_on: Any) -> None:
        self.has_left = asyncio.Event()
        """Set when the client sends nothing more."""
        self._transport = transport
        self._pass_on = pass_on
        self._mask = load_mask()
        self._reader = MessageReader(limit, self._receive_control, self._mask)
        self._can_write = True
        self._is_over = False
        self._is_refused = False
        self._ping: bytes | None = None  # the last one that came when there was no room for the answer
        self._on_messages: OnMessages = _ignore
        self._on_room: OnRoom = _ignore
        self._on_invalid: OnInvalid = _ignore
        transport.pause_reading()

    def begin(self, on_messages: OnMessages, on_room: OnRoom, on_invalid: OnInvalid) -> None:
        """Deliver messages, tell when there is room again, and what is not allowed: nothing is delivered after that."""
        self._on_messages, self._on_room, self._on_invalid = on_messages, on_room, on_invalid
        self.resume_reading()

    def end(self) -> None:
        """Deliver nothing more."""
        self._on_messages = self._on_room = self._on_invalid = _ignore

    async def wait_refused(self) -> None:
        """If something was not allowed, wait until the client has left: it may not read the reason while it sends."""
        if self._is_refused:
            self.resume_reading()
            if self._transport.can_write_eof() and not self._transport.is_closing():
                self._transport.write_eof()
            await self.has_left.wait()

    @property
    def has_room(self) -> bool:
        return self._can_write and not self._is_over and not self._transport.is_closing()

    def write_frames(self, frames: list[bytes]) -> None:
        self._transport.write(write_messages(frames))

    def write_bytes(self, data: bytes) -> None:
        self._transport.write(write_messages((data,), BINARY))

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def receive(self, data: bytes) -> None:
        """Bytes of the client."""
        if self._is_over:
            return
        try:
            messages = self._reader.feed(data)
            for opcode, content in messages:
                if opcode == TEXT and not content.isascii():
                    content.decode()
        except UnicodeDecodeError:
            self._refuse(INVALID_DATA, "a text message is not UTF-8")
        except (PayloadTooBig, ProtocolError) as error:
            self._refuse(close_code(error), str(error))
        else:
            if messages:
                self._on_messages(messages)

    def pause_writing(self) -> None:
        self._can_write = False

    def resume_writing(self) -> None:
        self._can_write = True
        if self._ping is not None:
            self._write_pong(self._ping)
            self._ping = None
        self._on_room()

    def _refuse(self, code: int, reason: str) -> None:
        self._is_over = self._is_refused = True
        self._on_invalid(code, reason)

    def _receive_control(self, frame: bytes) -> None:
        if self._is_over:
            return
        if frame[0] not in (_CLOSE, _PING, _PONG) or len(frame) > _CONTROL_HEAD + _CONTROL_SIZE:
            raise ProtocolError("a control frame is too long, or unknown")
        if frame[0] == _CLOSE:
            self._is_over = True
            self._pass_on(frame)
        elif frame[0] == _PING:
            data = self._mask(frame[_CONTROL_HEAD:], frame[2:_CONTROL_HEAD])
            if self._can_write:
                self._write_pong(data)
            else:
                self._ping = data

    def _write_pong(self, data: bytes) -> None:
        if not self._is_over:
            self._transport.write(write_messages((data,), _PONG_OPCODE))


def _ignore(*_: object) -> None:
    pass
