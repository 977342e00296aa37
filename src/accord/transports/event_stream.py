"""Server-sent events: one event for each frame, its JSON text as the data and its number in the stream as the id.

`EventBuffer` holds the events of one stream until its client has read them, and some longer, for a client that was cut off
and comes back. `EventParser` reads a stream.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable

from accord.errors import FrameRejected
from accord.transports.framing import FRAME_LIMIT, ParseResult, frame_too_long
from accord.transports.resumption import SentFrames

KEEP_ALIVE = b":\n\n"

# The most bytes of one write, but for an event that is larger.
_CHUNK = 256 * 1024
# The most bytes that wait for their confirmation, but for an event that is larger.
_WINDOW = 256 * 1024
# The most bytes that are kept for a client that does not confirm.
_KEPT = 64 * 1024


def format_event(frame: bytes, number: int) -> bytes:
    """One event. A line break inside JSON text is white space between tokens, but ends a line of the stream."""
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"id: %d\ndata: %b\n\n" % (number, frame)


class EventBuffer:
    """The events of one stream. They wait for a client; at most one reads at a time, and gets a number to read with.

    `on_sent` gets the number of bytes of frames that were passed to the client. A client that `confirms` what it has
    received gets no more than a window ahead of that, and all of it is kept; for others a little is.
    """

    def __init__(self, on_sent: Callable[[int], None], *, confirms: bool = False) -> None:
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
        self._confirms = confirms
        self._sent = SentFrames()
        self._again: deque[bytes] = deque()  # the last of those sent, for a client that has missed them
        self._reader = 0
        self._readers = 0
        self._in_flight = 0
        self._is_ended = False
        self._wake = asyncio.Event()
        self._replaced = asyncio.Event()

    @property
    def has_reader(self) -> bool:
        return self._reader != 0

    @property
    def is_empty(self) -> bool:
        return not self._frames and not self._in_flight and not self._again

    @property
    def was_read(self) -> bool:
        """Whether any event was passed to a client."""
        return self._sent.count > 0

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
        self._again.clear()
        self._acknowledge()
        self.end()
        if self.on_drop is not None:
            self.on_drop()

    def attach(self, last_event: int | None = None) -> int:
        """A client reads it from now on, in the place of another: after this event, or after what was sent before.

        LookupError if events that follow are not kept.
        """
        again = deque(self._sent.after(self._sent.count if last_event is None else last_event))
        self.detach(self._reader)
        self._again = again
        if last_event is not None:
            self._sent.confirm(last_event)
        self._readers += 1
        self._reader = self._readers
        self.is_expected = True
        self.changed_at = self._loop.time()
        return self._reader

    def detach(self, reader: int) -> None:
        """This client has left; without confirmations, what was passed to it last may be lost."""
        if reader == 0 or reader != self._reader:
            return
        self._acknowledge()
        self._reader = 0
        self._again.clear()
        self.changed_at = self._loop.time()
        self._wake.set()
        self._replaced.set()
        self._replaced = asyncio.Event()

    def confirm(self, last_event: int) -> None:
        """The client has received everything up to this event."""
        if self._confirms and last_event <= self._sent.count:
            self._sent.confirm(last_event)
            self._wake.set()

    async def wait_replaced(self, reader: int) -> None:
        """Returns when this client does not read it any more."""
        while reader == self._reader:
            await self._replaced.wait()

    async def read(self, reader: int, seconds: float) -> bytes | None:
        """The events since the last call, all in one piece; a comment after so many seconds; None at the end.

        Calling it again says that the previous piece was sent.
        """
        if reader == self._reader:
            self._acknowledge()
        while reader == self._reader:
            if self._again or (self._frames and self._has_room):
                return self._take()
            if self._is_ended and not self._frames:
                return None
            self._wake.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                return KEEP_ALIVE
        return None

    @property
    def _has_room(self) -> bool:
        return not self._confirms or self._sent.size < _WINDOW

    def _take(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while self._again and size < _CHUNK:
            number = self._sent.count - len(self._again) + 1
            size += len(self._again[0])
            pieces.append(format_event(self._again.popleft(), number))
        if not self._again:
            frames, sent = self._frames, self._sent
            window = _WINDOW if self._confirms else sys.maxsize
            before = size
            while frames and size < _CHUNK and sent.size < window:
                frame = frames.popleft()
                sent.add(frame)
                size += len(frame)
                pieces.append(format_event(frame, sent.count))
            self._in_flight += size - before
        if not self._confirms:
            self._sent.shrink(_KEPT)
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
        self._id: bytes | None = None
        self.event_id: bytes | None = None
        """The id of the newest complete event that had one."""

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
        if line[:6] == b"data: ":  # nearly always, and otherwise an id
            self._add(line[6:])
            return None
        if line[:4] == b"id: ":
            self._id = line[4:]
            return None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"id":
            self._id = value
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
        self.event_id = self._id
        if was_skipping:
            self._data.clear()
            return frame_too_long(self._limit)
        if self._data:
            frame = b" ".join(self._data).strip()
            self._data.clear()
            if frame:
                frames.append(frame)
        return None
