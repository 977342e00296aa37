"""Frames on their way out: a frame alone leaves at once, frames sent in one tick leave together.

A frame is alone when a millisecond has passed since the last one, or something has arrived since. So the first frame of
a burst and every answer to something never wait, and what follows in the same tick costs one system call in all.
"""

from __future__ import annotations

import asyncio

from accord.transports.framing import Arrivals, Framing, join, wrap
from accord.transports.streams import Writer
from accord.transports.transport import Receiver

__all__ = ["Departures"]

_APART_SECONDS = 0.001
_LARGE = 64 * 1024
# What waits for the end of a tick leaves sooner when it is this much: the other side can begin while we go on.
_BURST = 64 * 1024


class Departures:
    """Keeps the order, and tells the receiver when more than the high-water mark is unsent."""

    def __init__(
        self, writer: Writer, receiver: Receiver, arrivals: Arrivals, framing: Framing | None, high_water: int
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._writer = writer
        self._receiver = receiver
        self._arrivals = arrivals
        self._asked_framing: Framing | None = framing
        self._high_water = high_water
        self._low_water = high_water // 4
        self._burst = min(_BURST, high_water)
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._next_alone_at = 0.0
        self._is_paused = False
        self._is_closed = False
        writer.on_progress = self._progressed

    @property
    def unsent(self) -> int:
        """Bytes that the system does not have yet."""
        return self._waiting_size + self._writer.unsent

    def send(self, frame: bytes) -> None:
        """Send now or with the others of this tick."""
        size = len(frame)
        if self._waiting and size <= _LARGE:  # the usual one first
            self._waiting.append(frame)
            waiting_size = self._waiting_size = self._waiting_size + size
            if waiting_size >= self._burst:
                self.flush()
        elif self._is_closed:
            return
        elif size > _LARGE:
            self.flush()
            self._write(*wrap(frame, self._framing()))
        elif (now := self._loop.time()) >= self._next_alone_at:
            self._next_alone_at = now + _APART_SECONDS
            self._write(join([frame], self._framing()))
        else:
            self._waiting.append(frame)
            self._waiting_size += size
            self._loop.call_soon(self.flush)

    def something_arrived(self) -> None:
        """What is sent now is probably an answer."""
        self._next_alone_at = 0.0

    def flush(self) -> None:
        """Write what waits for the end of the tick."""
        if self._waiting:
            joined = join(self._waiting, self._framing())
            self._waiting = []
            self._waiting_size = 0
            self._next_alone_at = self._loop.time() + _APART_SECONDS
            self._write(joined)

    def close(self) -> None:
        """Hand everything to the writer; frames sent from now on are dropped, and nobody is told of the water mark."""
        self.flush()
        self._is_closed = True

    def _framing(self) -> Framing:
        return self._asked_framing or self._arrivals.framing or "newline"  # TRANS-05

    def _write(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
        if not self._is_paused and self._writer.unsent > self._high_water:
            self._is_paused = True
            if not self._arrivals.is_over:
                self._receiver.send_paused()

    def _progressed(self) -> None:
        if self._is_paused and not self._is_closed and self.unsent <= self._low_water:
            self._is_paused = False
            if not self._arrivals.is_over:
                self._receiver.send_resumed()
