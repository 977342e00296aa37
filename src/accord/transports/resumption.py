"""Connections that outlive the sockets they use: frames are kept until the other side has confirmed them.

Laws:

- Frames are counted from the beginning of the connection. Whoever comes back says how many it has received, and gets those
  that follow, in order, once.
- A sender keeps what was not confirmed, and waits when that is more than `WINDOW` bytes. A receiver confirms long before.
- Neither side does any of this unless the other has asked for it or offered it (`acp-resume`), so it takes nothing from
  peers that do not know it.

On a WebSocket, confirmations are binary messages, which the protocol does not use: eight bytes, the number of frames received.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from itertools import islice
from typing import Protocol

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameDelivery
from accord.transports.message_transport import MessageTransport

WINDOW = 1024 * 1024
"""The most bytes that are sent and not confirmed, but for one frame that is larger."""
CONFIRM_BYTES = 64 * 1024
"""A receiver confirms after so many bytes."""
END = b"end"
"""A binary message: the sender ends the connection, and will not come back or take anyone back. A close alone may be that of
a proxy, and some servers hide its reason."""

_NUMBER = 8  # bytes
_CHUNK = 64 * 1024  # the most bytes of one write, but for a frame that is larger
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0


class SentFrames:
    """Frames that were sent and not confirmed. `count` is the number of all that were sent, `size` the bytes kept."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        self._frames: deque[bytes] = deque()

    def add(self, frame: bytes) -> None:
        self.count += 1
        self.size += len(frame)
        self._frames.append(frame)

    def confirm(self, number: int) -> None:
        """Forget the first `number` frames of the connection; ValueError if they were not sent."""
        if not 0 <= number <= self.count:
            raise ValueError(f"{number} frames are confirmed, but {self.count} were sent")
        while self.count - len(self._frames) < number:
            self.size -= len(self._frames.popleft())

    def after(self, number: int) -> list[bytes]:
        """The frames after the first `number`; LookupError if some of them were forgotten or never sent."""
        begin = number - (self.count - len(self._frames))
        if begin < 0 or number > self.count:
            raise LookupError(f"the frames after {number} are not kept any more")
        return list(islice(self._frames, begin, None))

    def shrink(self, size: int) -> None:
        """Forget the oldest frames until no more than so many bytes are kept."""
        while self.size > size:
            self.size -= len(self._frames.popleft())


class Backoff:
    """The waits between attempts to connect again: longer each time, each of a random length, bounded, and over in time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds
        self._delay = _FIRST_DELAY

    async def wait(self) -> bool:
        """Wait before the next attempt; returns False when there is no time for another."""
        delay = self._delay * random.uniform(0.5, 1.0)  # noqa: S311  # so that not all clients come at once
        self._delay = min(2 * self._delay, _LONGEST_DELAY)
        left = self._end - self._loop.time()
        if left <= 0:
            return False
        if delay >= left:
            delay, self._end = (
                left,
                -math.inf,
            )  # the last attempt: a timer may ring early, and time left is no reason for more
        await asyncio.sleep(delay)
        return True


class Link(Protocol):
    """One WebSocket of a connection."""

    async def send_frames(self, frames: list[bytes]) -> None:
        """Send each as a text message."""
        ...

    async def send_bytes(self, data: bytes) -> None: ...


class LinkedTransport(MessageTransport):
    """A transport over one link after the other. Between two of them frames wait, and the sender is paused."""

    def __init__(self, high_water: int) -> None:
        super().__init__(high_water)
        self._is_resumable = False
        self._sent = SentFrames()
        self._received = 0
        self._unconfirmed = 0  # bytes received since the last confirmation
        self._is_confirmation_due = False
        self._confirm_seconds: float | None = None
        """How long the other side may take to confirm when it has been sent all that it may be."""
        self._blocked_at: float | None = None

    def _frame_received(self, size: int) -> None:
        self._received += 1
        if self._is_resumable:
            self._unconfirmed += size
            if self._unconfirmed >= CONFIRM_BYTES:
                self._unconfirmed = 0
                self._is_confirmation_due = True
                self._wake.set()

    def _bytes_received(self, data: bytes) -> None:
        """A binary message; ValueError for a confirmation of what was not sent."""
        if self._is_resumable and len(data) == _NUMBER:
            self._sent.confirm(int.from_bytes(data, "big"))
            self._blocked_at = None
            self._wake.set()

    async def _write(self, link: Link, received: int) -> None:
        """Send what the other side has not received, then all that follows, until this side closes.

        TimeoutError if frames wait because the other side does not confirm what it has received.
        """
        self._blocked_at = None
        if missed := self._sent.after(received):
            await link.send_frames(missed)
        while True:
            if self._is_confirmation_due:
                self._is_confirmation_due = False
                await link.send_bytes(self._received.to_bytes(_NUMBER, "big"))
            elif self._frames and self._sent.size < WINDOW:
                await self._write_frames(link)
            elif self._is_closed and not self._frames:
                return
            else:
                self._wake.clear()
                async with asyncio.timeout_at(self._confirm_by()):
                    await self._wake.wait()

    def _confirm_by(self) -> float | None:
        """When the other side has to have confirmed something; None if nothing waits for that."""
        if not self._frames or self._confirm_seconds is None:
            return None
        if self._blocked_at is None:
            self._blocked_at = asyncio.get_running_loop().time()
        return self._blocked_at + self._confirm_seconds

    async def _write_frames(self, link: Link) -> None:
        """Send what waits, in one write as far as that is sensible."""
        frames, waiting, sent, size = list[bytes](), self._frames, self._sent, 0
        while waiting and size < _CHUNK and sent.size < WINDOW:
            frame = waiting.popleft()
            sent.add(frame)  # before anything can fail
            frames.append(frame)
            size += len(frame)
        try:
            await link.send_frames(frames)
        finally:
            if not self._is_resumable:
                sent.confirm(sent.count)
            self._frame_sent(size)

    def _lose(self, delivery: FrameDelivery, reason: str) -> None:
        self._is_closed = True
        self._wake.set()
        delivery.lose(ConnectionClosed(reason))
