"""Writes frames: a single frame is written at once, frames sent in one iteration of the loop are written together.

A frame is single if a millisecond has passed since the last one, or input has arrived since. So the first frame of a
burst and every response never wait, and the frames that follow in the same iteration cost one system call in all.
"""

from __future__ import annotations

import asyncio

from accord.transports.frame_reader import FrameReader
from accord.transports.framing import Framing, join_frames, wrap_frame
from accord.transports.streams import ByteWriter
from accord.transports.transport import Receiver

_SINGLE_SECONDS = 0.001
_LARGE = 64 * 1024
# The queue of an iteration is written earlier if it has this size or this many frames: the other side can begin with it.
_FLUSH_SIZE = 64 * 1024
_FLUSH_FRAMES = 64


class FrameWriter:
    """Keeps the order, and pauses the sender when more than the high-water mark is unsent."""

    def __init__(
        self,
        writer: ByteWriter,
        receiver: Receiver,
        frame_reader: FrameReader,
        framing: Framing | None,
        high_water: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._writer = writer
        self._receiver = receiver
        self._frame_reader = frame_reader
        self._framing: Framing | None = framing
        self._high_water = high_water
        self._low_water = high_water // 4
        self._flush_size = min(_FLUSH_SIZE, high_water)
        self._queue: list[bytes] = []
        self._queue_size = 0
        self.next_single_at = 0.0
        """The time from which a frame is single. Set to 0 when input arrives: the next frame is probably a response."""
        self._is_paused = False
        self._is_closed = False
        writer.on_progress = self._on_progress

    @property
    def unsent(self) -> int:
        """Bytes that were not passed to the system yet."""
        return self._queue_size + self._writer.unsent

    def send(self, frame: bytes) -> None:
        """Write the frame now, or with the others of this iteration of the loop."""
        size = len(frame)
        if self._queue and size <= _LARGE:  # the most frequent case first
            self._queue.append(frame)
            queue_size = self._queue_size = self._queue_size + size
            if queue_size >= self._flush_size or len(self._queue) >= _FLUSH_FRAMES:
                self.flush()
        elif self._is_closed:
            return
        elif size > _LARGE:
            self.flush()
            for piece in wrap_frame(frame, self._framing or self._find_framing()):
                self._write(piece)
        elif (now := self._time()) >= self.next_single_at:
            self.next_single_at = now + _SINGLE_SECONDS
            self._write(join_frames([frame], self._framing or self._find_framing()))
        else:
            self._queue.append(frame)
            self._queue_size += size
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write the frames that wait for the end of the iteration."""
        if self._queue:
            data = join_frames(self._queue, self._framing or self._find_framing())
            self._queue = []
            self._queue_size = 0
            self.next_single_at = self._time() + _SINGLE_SECONDS
            self._write(data)

    def close(self) -> None:
        """Write everything; later frames are dropped, and the receiver gets no more calls."""
        self.flush()
        self._is_closed = True

    def _find_framing(self) -> Framing:
        self._framing = self._frame_reader.framing
        return self._framing or "newline"  # TRANS-05

    def _write(self, piece: bytes) -> None:
        self._writer.write(piece)
        if not self._is_paused and self._writer.unsent > self._high_water:
            self._is_paused = True
            if not self._frame_reader.is_closed:
                self._receiver.send_paused()

    def _on_progress(self) -> None:
        if self._is_paused and not self._is_closed and self.unsent <= self._low_water:
            self._is_paused = False
            if not self._frame_reader.is_closed:
                self._receiver.send_resumed()
