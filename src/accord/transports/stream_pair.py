"""Frames over one stream of bytes in and one out: what stdio and a process have in common."""

from __future__ import annotations

import asyncio

from accord.errors import ConnectionClosed
from accord.transports.frame_writer import Departures
from accord.transports.framing import FRAME_LIMIT, Arrivals, Framing
from accord.transports.streams import Reader, Writer
from accord.transports.transport import HIGH_WATER, Receiver

__all__ = ["Duplex"]


class Duplex:
    """A transport but for opening and closing, which depend on what the streams belong to.

    `framing` says how we write; left out, we write as the other side does, newline-delimited until it has spoken.
    What we read is recognised either way.
    """

    def __init__(
        self, *, framing: Framing | None = None, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER
    ) -> None:
        self._framing: Framing | None = framing
        self._frame_limit = frame_limit
        self._high_water = high_water
        self._arrivals: Arrivals | None = None
        self._departures: Departures | None = None
        self._reader: Reader | None = None
        self._writer: Writer | None = None
        self._closing: asyncio.Task[None] | None = None

    def send(self, frame: bytes) -> None:
        """Never blocks. When nobody is there to read it any more, a frame is dropped: the receiver has been told."""
        raise ConnectionClosed("it is not open yet", kind="not_open")

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        if self._arrivals is not None and self._reader is not None:
            self._arrivals.pause()
            self._reader.pause()

    def resume_receiving(self) -> None:
        """Calls nothing itself; what was held comes with the next tick."""
        if self._arrivals is not None and self._reader is not None:
            self._arrivals.resume()
            self._reader.resume()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` and not yet handed to the system."""
        return 0 if self._departures is None else self._departures.unsent

    async def aclose(self) -> None:
        """Sends what is unsent within a bound, then releases everything. Safe to call twice, and from any task."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="accord transport closing")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        raise NotImplementedError

    def _attach(self, receiver: Receiver, writer: Writer) -> None:
        self._arrivals = Arrivals(receiver, self._frame_limit)
        self._departures = Departures(writer, receiver, self._arrivals, self._framing, self._high_water)
        self.send = self._departures.send  # every frame goes this way, and needs no detour
        self._writer = writer

    def _arrived(self, data: bytes) -> None:
        assert self._arrivals is not None
        assert self._departures is not None
        self._departures.something_arrived()
        self._arrivals.feed(data)

    def _silent(self, reason: ConnectionClosed) -> None:
        """Nothing more arrives, but what is sent may be read."""
        if self._arrivals is not None and self._reader is not None:
            self._reader.close()
            self._arrivals.end(reason)

    def _lost(self, reason: ConnectionClosed) -> None:
        if self._arrivals is not None and self._reader is not None:
            self._reader.close()
            self._arrivals.lose(reason)
