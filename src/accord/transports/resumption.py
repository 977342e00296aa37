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
from accord.transports.transport import Receiver

WINDOW = 1024 * 1024
"""The most bytes that are sent and not confirmed, but for one frame that is larger."""
CONFIRM_BYTES = 64 * 1024
"""A receiver confirms after so many bytes."""
END = b"end"
"""A binary message: the sender ends the connection, and will not come back or take anyone back. A close alone may be that of
a proxy, and some servers hide its reason."""

_NUMBER = 8  # bytes
_CHUNK = 64 * 1024  # the most bytes of one write, but for a frame that is larger
_SINGLE_SECONDS = 0.001
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

    @property
    def has_room(self) -> bool:
        """Whether more can be written now; the transport hears of it when there is room again."""
        ...

    def write_frames(self, frames: list[bytes]) -> None:
        """Send each as a text message."""
        ...

    def write_bytes(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class LinkedTransport(MessageTransport):
    """A transport over one link after the other. Between two of them frames wait, and the sender is paused.

    A frame is written at once if a millisecond has passed since the last one, or input has arrived since; the others of one
    iteration of the loop are written together.
    """

    def __init__(self, high_water: int) -> None:
        super().__init__(high_water)
        self._is_resumable = False
        self._sent = SentFrames()
        self._received = 0
        self._unconfirmed = 0  # bytes received since the last confirmation
        self._is_confirmation_due = False
        self._unread_seconds: float | None = None
        """How long the other side may take to read, or to confirm when it has been sent all that it may be."""
        self._unread_timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop
        self._link: Link | None = None
        self._unwritten = 0  # bytes in the buffer of a link that has no room
        self._is_flush_due = False
        self._single_at = 0.0
        self._is_flushed = asyncio.Event()
        """Set whenever nothing is left to send."""

    def pause_receiving(self) -> None:
        super().pause_receiving()
        if self._link is not None:
            self._link.pause_reading()

    def resume_receiving(self) -> None:
        super().resume_receiving()
        if self._link is not None:
            self._link.resume_reading()

    def _attach(self, receiver: Receiver) -> FrameDelivery:
        self._loop = asyncio.get_running_loop()
        return super()._attach(receiver)

    def _begin(self, link: Link, received: int) -> None:
        """Use this link from now on; its other end has received so many frames, and is sent those that follow."""
        self._link = link
        if self._delivery is not None and self._delivery.is_paused:
            link.pause_reading()
        if missed := self._sent.after(received):
            link.write_frames(missed)
        self._flush()

    def _end(self) -> None:
        """Use the link no more: what it did not write is sent by the next one, if there is one."""
        self._link = None
        self._read_again()
        self._count_written()

    def _frame_received(self, size: int) -> None:
        self._received += 1
        self._single_at = 0.0  # what is sent next is probably a response
        if self._is_resumable:
            self._unconfirmed += size
            if self._unconfirmed >= CONFIRM_BYTES:
                self._unconfirmed = 0
                self._is_confirmation_due = True
                self._flush_soon()

    def _bytes_received(self, data: bytes) -> None:
        """A binary message; ValueError for a confirmation of what was not sent."""
        if self._is_resumable and len(data) == _NUMBER:
            self._sent.confirm(int.from_bytes(data, "big"))
            if self._frames:
                self._read_again()
                self._flush_soon()

    def _frame_waits(self) -> None:
        if not self._is_flush_due:
            if self._loop.time() >= self._single_at and not self._is_send_paused:
                self._flush()
            else:
                self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Write as much of what waits as there is room for."""
        self._is_flush_due = False
        link = self._link
        if link is None:
            self._is_flushed.clear()
            return
        if self._is_confirmation_due and link.has_room:
            self._is_confirmation_due = False
            link.write_bytes(self._received.to_bytes(_NUMBER, "big"))
        while self._frames and self._sent.size < WINDOW and link.has_room:
            self._write_frames(link)
        self._single_at = self._loop.time() + _SINGLE_SECONDS
        if self._frames or not link.has_room:
            self._is_flushed.clear()
            if self._unread_timer is None and self._unread_seconds is not None:
                self._unread_timer = self._loop.call_later(self._unread_seconds, self._not_read)
        else:
            self._is_flushed.set()
            self._read_again()

    def _write_frames(self, link: Link) -> None:
        """Write what waits, in one piece as far as that is sensible."""
        frames, waiting, sent, size = list[bytes](), self._frames, self._sent, 0
        while waiting and size < _CHUNK and sent.size < WINDOW:
            frame = waiting.popleft()
            sent.add(frame)
            frames.append(frame)
            size += len(frame)
        link.write_frames(frames)
        if not self._is_resumable:
            sent.confirm(sent.count)
        self._unwritten += size
        if link.has_room:
            self._count_written()

    def _has_room(self) -> None:
        """The link has room again."""
        self._read_again()
        self._count_written()
        self._flush()

    def _count_written(self) -> None:
        size, self._unwritten = self._unwritten, 0
        self._frame_sent(size)

    def _read_again(self) -> None:
        """The other side has read, or confirmed."""
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _not_read(self) -> None:
        """The other side has not read in time."""

    def _lose(self, delivery: FrameDelivery, reason: str) -> None:
        self._is_closed = True
        delivery.lose(ConnectionClosed(reason))
