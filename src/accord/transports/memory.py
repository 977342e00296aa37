"""A pair of transports connected in memory, with the same limits and pauses as the others."""

from __future__ import annotations

import asyncio
from collections import deque

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.framing import FRAME_LIMIT, frame_too_long
from accord.transports.transport import HIGH_WATER, Receiver

# The most bytes per call of a receiver, as from a pipe: a pause takes effect after this much.
_CHUNK = 64 * 1024


def memory_pair(
    *, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER
) -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected transports."""
    forth, back = _Direction(frame_limit, high_water), _Direction(frame_limit, high_water)
    return MemoryTransport(forth, back), MemoryTransport(back, forth)


class MemoryTransport:
    """One of two connected transports; frames sent before the other one is open wait for it."""

    def __init__(self, outgoing: _Direction, incoming: _Direction) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._receiver: Receiver | None = None
        self._is_closed = False

    async def open(self, receiver: Receiver) -> None:
        """Begin to receive."""
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        self._receiver = receiver
        self._outgoing.sender = receiver
        self._incoming.receiver = receiver
        self._incoming.schedule()

    def send(self, frame: bytes) -> None:
        """Never blocks; frames that the other end has not received count as unsent."""
        if self._receiver is None:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        self._outgoing.put(frame.replace(b"\n", b" ") if b"\n" in frame else frame)

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        self._incoming.is_paused = True

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        self._incoming.is_paused = False
        self._incoming.schedule()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` that the other end has not received."""
        return self._outgoing.size

    async def aclose(self) -> None:
        """The other end gets the frames sent before, then the end. Safe to call twice, and from any task."""
        if self._is_closed:
            return
        self._is_closed = True
        self._outgoing.end()
        was_lost = self._incoming.is_dropped
        self._incoming.drop()
        if self._receiver is not None and not was_lost:
            self._receiver.connection_lost(ConnectionClosed("closed by this side", kind="closed_here"))


class _Direction:
    """The frames from one end to the other."""

    def __init__(self, frame_limit: int, high_water: int) -> None:
        self.sender: Receiver | None = None
        self.receiver: Receiver | None = None
        self.size = 0
        self.is_paused = False
        self.is_dropped = False
        self._frame_limit = frame_limit
        self._high_water = high_water
        self._frames: deque[bytes] = deque()
        self._is_ended = False
        self._is_due = False
        self._sender_is_paused = False

    def put(self, frame: bytes) -> None:
        if self._is_ended or self.is_dropped:
            return
        self._frames.append(frame)
        self.size += len(frame)
        self.schedule()
        if self.sender is not None and not self._sender_is_paused and self.size > self._high_water:
            self._sender_is_paused = True
            self.sender.send_paused()

    def end(self) -> None:
        """The sender has closed: no more frames, and no more calls to it."""
        self._is_ended = True
        self.sender = None
        self.schedule()

    def drop(self) -> None:
        """The receiver has closed: drop all frames."""
        self.is_dropped = True
        self._frames.clear()
        self.size = 0

    def schedule(self) -> None:
        has_events = bool(self._frames) or self._is_ended
        if has_events and self.receiver is not None and not (self._is_due or self.is_paused or self.is_dropped):
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_due = False
        if self.is_paused or self.is_dropped or self.receiver is None:
            return
        if not self._frames:
            self.drop()
            self.receiver.connection_lost(ConnectionClosed("closed by the other side"))
            return
        result = self._take()
        if isinstance(result, FrameRejected):
            self.receiver.frame_rejected(result)
        else:
            self.receiver.frames_received(result)
        if self.sender is not None and self._sender_is_paused and self.size <= self._high_water // 4:
            self._sender_is_paused = False
            self.sender.send_resumed()
        self.schedule()

    def _take(self) -> list[bytes] | FrameRejected:
        frames: list[bytes] = []
        size = 0
        while self._frames and size < _CHUNK:
            is_too_long = len(self._frames[0]) > self._frame_limit
            if is_too_long and frames:
                break
            frame = self._frames.popleft()
            self.size -= len(frame)
            if is_too_long:
                return frame_too_long(self._frame_limit)
            size += len(frame)
            frames.append(frame)
        return frames
