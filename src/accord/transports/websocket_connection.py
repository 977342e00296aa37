"""A WebSocket of the package `websockets`, which does the handshake, pings and the end.

Messages take a shorter way: all that one read brings are delivered together, without a queue and a task in between, and
several are written at once. This module needs the extra `http`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import CloseCode
from websockets.protocol import State

from accord.transports.streams import BufferedReader
from accord.transports.websocket_messages import (
    BINARY,
    TEXT,
    Message,
    MessageReader,
    close_code,
    load_mask,
    write_messages,
)

_HEAD_END = b"\r\n\r\n"


class MessageConnection(ClientConnection, BufferedReader):
    """`begin` says who gets the messages; those that came before are delivered then."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._reader = MessageReader(self.protocol.max_message_size, super().data_received)
        self._mask = load_mask()
        self._head = b""  # the last bytes of an incomplete response to the handshake
        self._has_head = False
        self._early: list[Message] = []
        self._on_messages: Callable[[list[Message]], object] = self._early.extend
        self._on_room: Callable[[], object] | None = None

    def begin(self, on_messages: Callable[[list[Message]], object], on_room: Callable[[], object]) -> None:
        """Deliver messages to the first function; the second is called when there is room again."""
        self._on_messages, self._on_room = on_messages, on_room
        if self._early:
            on_messages(self._early)
            self._early = []

    @property
    def is_open(self) -> bool:
        return self.protocol.state is State.OPEN and not self.transport.is_closing()

    @property
    def has_room(self) -> bool:
        return not self.paused and self.is_open

    def write_frames(self, frames: list[bytes]) -> None:
        self.transport.write(write_messages(frames, TEXT, self._mask))

    def write_bytes(self, data: bytes) -> None:
        self.transport.write(write_messages((data,), BINARY, self._mask))

    def pause_reading(self) -> None:
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._on_room is not None:
            self._on_room()

    def data_received(self, data: bytes) -> None:
        if not self._has_head:
            data = self._receive_head(data)
        if not data:
            return
        if self.protocol.state is State.CONNECTING:  # refused, and this is the body of the response
            super().data_received(data)
            return
        try:
            messages = self._reader.feed(data)
        except (PayloadTooBig, ProtocolError) as error:
            self.protocol.fail(CloseCode(close_code(error)), str(error))
            self.send_data()
            return
        if messages:
            self._on_messages(messages)

    def _receive_head(self, data: bytes) -> bytes:
        """Pass on the response to the handshake; what follows it."""
        known = len(self._head)
        head, end, rest = (self._head + data).partition(_HEAD_END)
        if not end:
            self._head = head[-3:]
            super().data_received(data)
            return b""
        self._has_head = True
        super().data_received((head + end)[known:])
        return rest
