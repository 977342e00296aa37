"""Two ends joined in memory, with the water marks, pauses and limits of the real thing."""

from __future__ import annotations

import asyncio
from collections import deque

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.framing import FRAME_LIMIT, too_long
from accord.transports.transport import HIGH_WATER, Receiver

__all__ = ["MemoryTransport", "joined"]

# What one call of a receiver gets at most, as from a pipe: so a pause takes effect after this much.
_CHUNK = 64 * 1024


def joined(*, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER) -> tuple[MemoryTransport, MemoryTransport]:
    """Two transports, each the other's far end."""
    there, back = _Way(frame_limit, high_water), _Way(frame_limit, high_water)
    return MemoryTransport(there, back), MemoryTransport(back, there)


class MemoryTransport:
    """One of two joined ends; what is sent before the other end is open waits for it."""

    def __init__(self, outgoing: _Way, incoming: _Way) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._receiver: Receiver | None = None
        self._is_closed = False

    async def open(self, receiver: Receiver) -> None:
        """Begin to receive."""
        if self._is_closed:
            raise ConnectionClosed("it was closed before it was opened", kind="not_open")
        self._receiver = receiver
        self._outgoing.sender = receiver
        self._incoming.receiver = receiver
        self._incoming.schedule()

    def send(self, frame: bytes) -> None:
        """Never blocks; what the other end has not received counts as unsent."""
        if self._receiver is None:
            raise ConnectionClosed("it is not open yet", kind="not_open")
        self._outgoing.put(frame.replace(b"\n", b" ") if b"\n" in frame else frame)

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        self._incoming.is_paused = True

    def resume_receiving(self) -> None:
        """Calls nothing itself; what was held comes with the next tick."""
        self._incoming.is_paused = False
        self._incoming.schedule()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` that the other end has not received."""
        return self._outgoing.size

    async def aclose(self) -> None:
        """The other end gets what was sent before, then learns of the end. Safe to call twice, and from any task."""
        if self._is_closed:
            return
        self._is_closed = True
        self._outgoing.end()
        was_lost = self._incoming.is_over
        self._incoming.drop()
        if self._receiver is not None and not was_lost:
            self._receiver.connection_lost(ConnectionClosed("closed by this side", kind="closed_here"))


class _Way:
    """From one end to the other."""

    def __init__(self, frame_limit: int, high_water: int) -> None:
        self.sender: Receiver | None = None
        self.receiver: Receiver | None = None
        self.size = 0
        self.is_paused = False
        self.is_over = False
        self._frame_limit = frame_limit
        self._high_water = high_water
        self._frames: deque[bytes] = deque()
        self._is_ended = False
        self._is_due = False
        self._sender_is_paused = False

    def put(self, frame: bytes) -> None:
        if self._is_ended or self.is_over:
            return
        self._frames.append(frame)
        self.size += len(frame)
        self.schedule()
        if self.sender is not None and not self._sender_is_paused and self.size > self._high_water:
            self._sender_is_paused = True
            self.sender.send_paused()

    def end(self) -> None:
        """Nothing more is put in, and the sender wants to hear no more."""
        self._is_ended = True
        self.sender = None
        self.schedule()

    def drop(self) -> None:
        """Nothing more is taken out."""
        self.is_over = True
        self._frames.clear()
        self.size = 0

    def schedule(self) -> None:
        has_news = bool(self._frames) or self._is_ended
        if has_news and self.receiver is not None and not (self._is_due or self.is_paused or self.is_over):
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_due = False
        if self.is_paused or self.is_over or self.receiver is None:
            return
        if not self._frames:
            self.drop()
            self.receiver.connection_lost(ConnectionClosed("closed by the other side"))
            return
        news = self._take()
        if isinstance(news, FrameRejected):
            self.receiver.frame_rejected(news)
        else:
            self.receiver.frames_received(news)
        if self.sender is not None and self._sender_is_paused and self.size <= self._high_water // 4:
            self._sender_is_paused = False
            self.sender.send_resumed()
        self.schedule()

    def _take(self) -> list[bytes] | FrameRejected:
        frames: list[bytes] = []
        taken = 0
        while self._frames and taken < _CHUNK:
            is_too_long = len(self._frames[0]) > self._frame_limit
            if is_too_long and frames:
                break
            frame = self._frames.popleft()
            self.size -= len(frame)
            if is_too_long:
                return too_long(self._frame_limit)
            taken += len(frame)
            frames.append(frame)
        return frames
