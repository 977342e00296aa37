"""A protocol that reads into a buffer of its own.

A read without one takes so large a piece of memory that each small message costs a mapping and unmapping, which is half of
a round trip over TCP.
"""

from __future__ import annotations

import asyncio

_SMALL = 4 * 1024
_LARGE = 64 * 1024  # below the size from which malloc maps memory


class BufferedReader(asyncio.BufferedProtocol):
    """Calls `data_received` as asyncio.Protocol does. The buffer grows when a read fills it."""

    _buffer = memoryview(b"")

    def get_buffer(self, sizehint: int) -> memoryview:
        if not self._buffer:
            self._buffer = memoryview(bytearray(_SMALL))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._buffer[:nbytes])
        if nbytes == len(self._buffer) < _LARGE:
            self._buffer = memoryview(bytearray(_LARGE))
        self.data_received(data)

    def data_received(self, data: bytes) -> None:
        raise NotImplementedError
