"""A WebSocket of the package `websockets`, which does the handshake, pings and the end.

Messages take a shorter way: all that one read brings are delivered together, without a queue and a task in between, and
several are written at once. This module needs the extra `http`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import CloseCode
from websockets.protocol import State

from accord.transports.websocket_messages import BINARY, TEXT, Mask, MessageReader, write_messages

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled part for this machine
    from websockets.utils import apply_mask

_HEAD_END = b"\r\n\r\n"
_mask = cast("Mask", apply_mask)


class MessageConnection(ClientConnection):
    """`begin` says who gets the messages; those that came before are delivered then."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._reader = MessageReader(self.protocol.max_message_size, super().data_received)
        self._head = b""  # the last bytes of an incomplete response to the handshake
        self._has_head = False
        self._early: list[tuple[int, bytes]] = []
        self._on_messages: Callable[[list[tuple[int, bytes]]], object] = self._early.extend

    def begin(self, on_messages: Callable[[list[tuple[int, bytes]]], object]) -> None:
        """Deliver opcodes and data to this function, which may pause the transport."""
        self._on_messages = on_messages
        if self._early:
            on_messages(self._early)
            self._early = []

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
            code = CloseCode.MESSAGE_TOO_BIG if isinstance(error, PayloadTooBig) else CloseCode.PROTOCOL_ERROR
            self.protocol.fail(code, str(error))
            self.send_data()
            return
        if messages:
            self._on_messages(messages)

    async def send_frames(self, frames: list[bytes]) -> None:
        """Send each as a text message."""
        await self.send_messages(frames)

    async def send_messages(self, messages: Iterable[bytes], opcode: int = TEXT) -> None:
        """Write them at once; returns when the buffer of the socket has room. ConnectionClosed after the end."""
        if self.protocol.state is not State.OPEN:
            raise self.close_exc
        self.transport.write(write_messages(messages, opcode, _mask))
        await self.drain()

    async def send_bytes(self, data: bytes) -> None:
        await self.send_messages((data,), BINARY)

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
