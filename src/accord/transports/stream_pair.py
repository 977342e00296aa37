"""A transport over one input and one output stream: the common part of stdio and process transports."""

from __future__ import annotations

import asyncio

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameReader
from accord.transports.frame_writer import FrameWriter
from accord.transports.framing import FRAME_LIMIT, Framing
from accord.transports.streams import ByteReader, ByteWriter
from accord.transports.transport import HIGH_WATER, Receiver


class StreamPair:
    """A transport without opening and closing, which depend on the owner of the streams.

    `framing` is how frames are written; by default as the other side does, newline-delimited before it has sent
    anything. The framing of the input is always detected.
    """

    def __init__(
        self, *, framing: Framing | None = None, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER
    ) -> None:
        self._framing: Framing | None = framing
        self._frame_limit = frame_limit
        self._high_water = high_water
        self._frame_reader: FrameReader | None = None
        self._frame_writer: FrameWriter | None = None
        self._reader: ByteReader | None = None
        self._writer: ByteWriter | None = None
        self._close_task: asyncio.Task[None] | None = None

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        raise ConnectionClosed("the connection is not open yet", kind="not_open")

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        if self._frame_reader is not None and self._reader is not None:
            self._frame_reader.pause()
            self._reader.pause()

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        if self._frame_reader is not None and self._reader is not None:
            self._frame_reader.resume()
            self._reader.resume()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` and not yet passed to the system."""
        return 0 if self._frame_writer is None else self._frame_writer.unsent

    async def aclose(self) -> None:
        """Sends unsent bytes within a time limit, then releases everything. Safe to call twice, and from any task."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self._close(), name="accord transport closing")
        await asyncio.shield(self._close_task)

    async def _close(self) -> None:
        raise NotImplementedError

    def _attach(self, receiver: Receiver, writer: ByteWriter) -> None:
        self._frame_reader = FrameReader(receiver, self._frame_limit)
        self._frame_writer = FrameWriter(writer, receiver, self._frame_reader, self._framing, self._high_water)
        self.send = self._frame_writer.send  # the hot path: without a call in between
        self._writer = writer

    def _bytes_received(self, data: bytes) -> None:
        assert self._frame_reader is not None
        assert self._frame_writer is not None
        self._frame_writer.next_single_at = 0.0
        self._frame_reader.feed(data)

    def _end_input(self, reason: ConnectionClosed) -> None:
        """End of input; the other side may still read."""
        if self._frame_reader is not None and self._reader is not None:
            self._reader.close()
            self._frame_reader.end(reason)

    def _lose(self, reason: ConnectionClosed) -> None:
        if self._frame_reader is not None and self._reader is not None:
            self._reader.close()
            self._frame_reader.lose(reason)
