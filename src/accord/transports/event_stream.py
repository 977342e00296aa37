"""Server-sent events: one event for each frame, its JSON text as the data.

`EventBuffer` holds the events of one stream until its client has read them. `EventParser` reads a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from accord.errors import FrameRejected
from accord.transports.framing import FRAME_LIMIT, ParseResult, frame_too_long

KEEP_ALIVE = b":\n\n"

# The most bytes of one write, but for an event that is larger.
_CHUNK = 256 * 1024


def format_event(frame: bytes) -> bytes:
    """One event. A line break inside JSON text is white space between tokens, but ends a line of the stream."""
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"data: %b\n\n" % frame


class EventBuffer:
    """The events of one stream. They wait for a client; at most one reads at a time.

    `on_sent` gets the number of bytes of frames that were passed to the client.
    """

    def __init__(self, on_sent: Callable[[int], None]) -> None:
        self.has_reader = False
        self.is_known = False
        """Whether anything but the request for the stream itself has named its session."""
        self.is_expected = False
        """Whether a client has read it, or was told of its session and so will."""
        self.on_drop: Callable[[], object] | None = None
        """Called when what was not read is forgotten: a write may wait for a client that never reads."""
        self._loop = asyncio.get_running_loop()
        self.changed_at = self._loop.time()
        """When it was created, read or left, or got its oldest event."""
        self._on_sent = on_sent
        self._frames: deque[bytes] = deque()
        self._in_flight = 0
        self._is_ended = False
        self._wake = asyncio.Event()

    @property
    def is_empty(self) -> bool:
        return not self._frames and not self._in_flight

    @property
    def is_ended(self) -> bool:
        return self._is_ended

    def put(self, frame: bytes) -> None:
        """Append an event."""
        if not self._frames:
            self.changed_at = self._loop.time()
            self._wake.set()
        self._frames.append(frame)

    def end(self) -> None:
        """The reader gets what is left, then the end."""
        self._is_ended = True
        self._wake.set()

    def drop(self) -> None:
        """Forget everything that was not read, and end."""
        self._in_flight += sum(map(len, self._frames))
        self._frames.clear()
        self._acknowledge()
        self.end()
        if self.on_drop is not None:
            self.on_drop()

    def attach(self) -> None:
        """A client reads it from now on."""
        self.has_reader = self.is_expected = True
        self.changed_at = self._loop.time()

    def detach(self) -> None:
        """The client has left; what was passed to it last may be lost."""
        self._acknowledge()
        self.has_reader = False
        self.changed_at = self._loop.time()
        self._wake.set()

    async def read(self, seconds: float) -> bytes | None:
        """The events since the last call, all in one piece; a comment after so many seconds; None at the end.

        Calling it again says that the previous piece was sent.
        """
        self._acknowledge()
        if not self._frames and self.has_reader and not self._is_ended:
            self._wake.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return KEEP_ALIVE
        if not self.has_reader or not self._frames:
            return None
        return self._take()

    def _take(self) -> bytes:
        pieces: list[bytes] = []
        while self._frames and self._in_flight < _CHUNK:
            frame = self._frames.popleft()
            self._in_flight += len(frame)
            pieces.append(format_event(frame))
        return b"".join(pieces)

    def _acknowledge(self) -> None:
        sent, self._in_flight = self._in_flight, 0
        if sent:
            self.changed_at = self._loop.time()
            self._on_sent(sent)


class EventParser:
    """Reads the data of events from the bytes of a stream; lines end with CR, LF or both. Comments and names are skipped."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._lines: list[bytes] = []  # pieces of one line
        self._data: list[bytes] = []  # lines of one event
        self._size = 0  # of these
        self._line_size = 0
        self._is_skipping = False
        self._ended_with_cr = False
        self.event_id: bytes | None = None
        """The id of the newest event that had one."""

    def feed(self, data: bytes) -> list[ParseResult]:
        """The frames that these bytes complete."""
        if self._ended_with_cr and data[:1] == b"\n":
            data = data[1:]
        self._ended_with_cr = data[-1:] == b"\r"
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n") if b"\r" in data else data.split(b"\n")
        results: list[ParseResult] = []
        frames: list[bytes] = []
        rest = lines.pop()
        for line in lines:
            refused = self._line(line, frames)
            if refused is not None:
                results += [frames, refused] if frames else [refused]
                frames = []
        if rest:
            self._keep(rest)
        return [*results, frames] if frames else results

    def _line(self, line: bytes, frames: list[bytes]) -> FrameRejected | None:
        if self._lines:
            self._lines.append(line)
            line = b"".join(self._lines)
            self._lines = []
        self._line_size = 0
        if not line:
            return self._event(frames)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"id":
            self.event_id = value
        return None

    def _add(self, value: bytes) -> None:
        self._size += len(value)
        if self._size > self._limit:
            self._is_skipping = True
            self._data.clear()
        if not self._is_skipping:
            self._data.append(value)

    def _keep(self, piece: bytes) -> None:
        self._line_size += len(piece)
        if self._size + self._line_size > self._limit + 16:  # and the name of the field
            self._is_skipping = True
        if self._is_skipping:
            self._lines = self._lines[:1]  # enough to know the field by
        else:
            self._lines.append(piece)

    def _event(self, frames: list[bytes]) -> FrameRejected | None:
        was_skipping, self._is_skipping, self._size = self._is_skipping, False, 0
        if was_skipping:
            self._data.clear()
            return frame_too_long(self._limit)
        if self._data:
            frame = b" ".join(self._data).strip()
            self._data.clear()
            if frame:
                frames.append(frame)
        return None
