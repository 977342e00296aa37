"""The bytes of WebSocket messages (RFC 6455): several messages are written as one piece, and read from any pieces.

A client masks what it sends, a server does not. Control frames are not interpreted here: `MessageReader` passes them on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from struct import Struct
from typing import TypeAlias

TEXT, BINARY = 1, 2

INVALID_DATA = 1007
_PROTOCOL_ERROR, _TOO_BIG = 1002, 1009

_LAST = 0x80
_MASKED = 0x80
_CONTROL = 0x08
_SHORT, _LONG = Struct("!BBH").pack, Struct("!BBQ").pack

Mask: TypeAlias = Callable[[bytes, bytes], bytes]
Message: TypeAlias = tuple[int, bytes]
"""Opcode and data."""


def load_mask() -> Mask:
    """The function of the package `websockets`, which is of an extra."""
    try:
        module = import_module("websockets.speedups")
    except ImportError:  # no compiled part for this machine
        module = import_module("websockets.utils")
    return module.apply_mask


def close_code(error: Exception) -> int:
    """The code to close with after an error of MessageReader."""
    from websockets.exceptions import PayloadTooBig  # noqa: PLC0415  # of an extra

    return _TOO_BIG if isinstance(error, PayloadTooBig) else _PROTOCOL_ERROR


def write_messages(messages: Iterable[bytes], opcode: int = TEXT, mask: Mask | None = None) -> bytes:
    """One frame for each message, all in one piece; masked with `mask`, which gets the data and a key."""
    pieces: list[bytes] = []
    bit = 0 if mask is None else _MASKED
    for message in messages:
        size = len(message)
        if size < 126:
            pieces.append(bytes((_LAST | opcode, bit | size)))
        elif size < 65536:
            pieces.append(_SHORT(_LAST | opcode, bit | 126, size))
        else:
            pieces.append(_LONG(_LAST | opcode, bit | 127, size))
        if mask is not None:
            key = os.urandom(4)
            pieces.append(key)
            message = mask(message, key)
        pieces.append(message)
    return b"".join(pieces)


class MessageReader:
    """Reads the messages of a server or, with `mask`, those of a client.

    A message larger than `limit` is a PayloadTooBig, one that is masked and should not be, or the reverse, a ProtocolError.
    `on_control` gets the bytes of each control frame, in its place among the others.
    """

    def __init__(self, limit: int | None, on_control: Callable[[bytes], object], mask: Mask | None = None) -> None:
        self._limit = sys.maxsize if limit is None else limit
        self._on_control = on_control
        self._mask = mask
        self._rest = bytearray()  # of an incomplete frame
        self._needed = 2  # bytes before anything can be done
        self._parts = bytearray()  # of a message in several frames
        self._opcode = 0  # of that message

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes complete."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        messages: list[Message] = []
        position, end = 0, len(data)
        while True:
            begin, size = self._head(data, position, end)
            if begin + size > end:
                break
            first, content = data[position], data[begin : begin + size]
            if first & _CONTROL:
                self._on_control(data[position : begin + size])
            else:
                if self._mask is not None:
                    content = self._mask(content, data[begin - 4 : begin])
                if first == _LAST | TEXT and not self._opcode:  # nearly always
                    messages.append((TEXT, content))
                else:
                    self._add(first, content, messages)
            position = begin + size
        self._needed = begin + size - position
        if position < end:
            self._rest += memoryview(data)[position:]
        return messages

    def _head(self, data: bytes, position: int, end: int) -> tuple[int, int]:
        """Where the content of the next frame begins, and its size; at least as many bytes are needed."""
        if end - position < 2:
            return position, 2
        first, size = data[position], data[position + 1]
        if (size & _MASKED == 0) != (self._mask is None) or first & 0x70:
            raise _broken_protocol("a frame is masked, is not masked, or uses an extension")
        size &= 0x7F
        begin = position + 2
        if size > 125:
            length = 2 if size == 126 else 8
            if end < begin + length:
                return begin, length
            size = int.from_bytes(data[begin : begin + length], "big")
            begin += length
        if size + len(self._parts) > self._limit:
            from websockets.exceptions import PayloadTooBig  # noqa: PLC0415  # of an extra

            raise PayloadTooBig(size, self._limit)
        return begin if self._mask is None else begin + 4, size

    def _add(self, first: int, content: bytes, messages: list[Message]) -> None:
        """One of several frames of a message, or a whole one that is not text."""
        opcode = first & 0x0F
        if (opcode == 0) == (self._opcode == 0) or opcode not in (0, TEXT, BINARY):
            raise _broken_protocol("a frame is out of place")
        self._opcode = self._opcode or opcode
        self._parts += content
        if first & _LAST:
            messages.append((self._opcode, bytes(self._parts)))
            self._opcode = 0
            self._parts.clear()


def _broken_protocol(reason: str) -> Exception:
    from websockets.exceptions import ProtocolError  # noqa: PLC0415  # of an extra

    return ProtocolError(reason)
