"""Splits a byte stream into frames, wraps frames for a stream, and passes arriving frames to a receiver.

Law: no byte is searched twice, and never more than one frame's limit of bytes is kept.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import Literal, NamedTuple, TypeAlias

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.transport import Receiver

__all__ = ["FRAME_LIMIT", "Arrivals", "Cut", "Cutter", "Framing", "join", "too_long", "wrap"]

Framing: TypeAlias = Literal["newline", "content-length"]
Cut: TypeAlias = list[bytes] | FrameRejected

FRAME_LIMIT = 64 * 1024 * 1024

_HEADER_LIMIT = 8 * 1024
_STRAY = "something other than headers stands between two frames"
_FIRST_HEADERS = (b"content-length:", b"content-type:")
_FIRST_SPOKEN = re.compile(rb"^[ \t\r]*([{\[]|content-length:|content-type:)", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"content-length:[ \t]*([0-9]{1,15})[ \t\r]*\Z", re.IGNORECASE)
_OTHER_HEADER = re.compile(rb"[a-z][a-z0-9-]*:", re.IGNORECASE)


def wrap(frame: bytes, framing: Framing) -> tuple[bytes, bytes]:
    """The two pieces that put one frame on the stream, the frame itself not copied."""
    if b"\n" in frame:
        frame = frame.replace(b"\n", b" ")  # TRANS-15: in JSON a raw newline is only ever white space
    if framing == "newline":
        return frame, b"\n"
    return b"Content-Length: %d\r\n\r\n" % len(frame), frame  # TRANS-07


def join(frames: list[bytes], framing: Framing) -> bytes:
    """Any number of frames as they stand on the stream."""
    if framing == "newline" and b"\n" not in b"".join(frames):
        return b"\n".join([*frames, b""])  # TRANS-14
    return b"".join([piece for frame in frames for piece in wrap(frame, framing)])


class Cutter:
    """Follows whichever framing the stream turns out to use; `framing` is None until that is known."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self.framing: Framing | None = None
        self.feed: Callable[[bytes], list[Cut]] = self._detect
        self._limit = limit
        self._lines = _Lines(limit)
        self._blocks: _Blocks | None = None
        self._start = b""

    def end(self) -> list[Cut]:
        """What the end of the stream completes: a last line needs no newline."""
        if self._blocks is not None:
            return self._blocks.end()
        return self._lines.feed(self._start + b"\n")

    def _detect(self, data: bytes) -> list[Cut]:
        # Lines that are neither JSON nor a header are passed on and decide nothing: programs print before they speak.
        data = self._start + data
        self._start = b""
        first = 0
        if self._lines.is_inside_line:
            first = data.find(b"\n") + 1
            if not first:
                return self._lines.feed(data)
        spoken = _FIRST_SPOKEN.search(data, first)
        if spoken is None:
            end = data.rfind(b"\n") + 1
            last = data[end:].lstrip(b" \t\r")
            if any(header.startswith(last.lower()) for header in _FIRST_HEADERS):
                self._start = last
                data = data[:end]
            return self._lines.feed(data)
        cuts = self._lines.feed(data[: spoken.start()])
        if spoken[1] in (b"{", b"["):
            self.framing, self.feed = "newline", self._lines.feed
        else:
            self.framing, self._blocks = "content-length", _Blocks(self._limit)
            self.feed = self._blocks.feed
        return cuts + self.feed(data[spoken.start(1) :])


class _Kept:
    """The pieces of one unfinished frame."""

    # BytesIO.getvalue() hands out its own buffer, so a frame of any size exists once; joining a list would hold it twice.

    def __init__(self) -> None:
        self.size = 0
        self._buffer: BytesIO | None = None

    def keep(self, piece: bytes) -> None:
        if self._buffer is None:
            self._buffer = BytesIO()
        self._buffer.write(piece)
        self.size += len(piece)

    def complete(self, piece: bytes) -> bytes:
        if self._buffer is None:
            return piece
        self._buffer.write(piece)
        whole = self._buffer.getvalue()
        self.forget()
        return whole

    def forget(self) -> None:
        self.size = 0
        self._buffer = None


class _Lines:
    """One frame a line; blank lines and carriage returns are dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = _Kept()
        self._skipping = False

    @property
    def is_inside_line(self) -> bool:
        return self._skipping or self._kept.size > 0

    def feed(self, data: bytes) -> list[Cut]:
        lines = data.split(b"\n")
        kept = self._kept
        if self._skipping or kept.size + len(data) > self._limit:
            return self._feed_near_limit(lines)
        rest = lines.pop()
        if lines and kept.size:
            lines[0] = kept.complete(lines[0])
        if rest:
            kept.keep(rest)
        frames = [frame for line in lines if (frame := line.strip())]
        return [frames] if frames else []

    def _feed_near_limit(self, lines: list[bytes]) -> list[Cut]:
        cuts: list[Cut] = []
        frames: list[bytes] = []
        rest = lines.pop()
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif self._kept.size + len(line) > self._limit:
                frames = self._refuse(cuts, frames)
            elif frame := self._kept.complete(line).strip():
                frames.append(frame)
        if not self._skipping and rest:
            if self._kept.size + len(rest) > self._limit:
                frames = self._refuse(cuts, frames)
                self._skipping = True
            else:
                self._kept.keep(rest)
        return [*cuts, frames] if frames else cuts

    def _refuse(self, cuts: list[Cut], frames: list[bytes]) -> list[bytes]:
        if frames:
            cuts.append(frames)
        self._kept.forget()
        cuts.append(too_long(self._limit))
        return []


class _Blocks:
    """One frame after each block of headers; what is no header is refused once, and skipped up to the next length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._header = b""
        self._length: int | None = None
        self._has_headers = False
        self._is_refused = False
        self._missing = 0
        self._skipping = 0
        self._kept = _Kept()
        self._cuts: list[Cut] = []
        self._frames: list[bytes] = []

    def feed(self, data: bytes) -> list[Cut]:
        position = 0
        while position < len(data):
            if self._skipping:
                skipped = min(self._skipping, len(data) - position)
                self._skipping -= skipped
                position += skipped
            elif self._missing:
                piece = data[position : position + self._missing]
                position += len(piece)
                self._body(piece)
            else:
                newline = data.find(b"\n", position)
                if newline < 0:
                    self._keep_header(data[position:])
                    break
                line = self._header + data[position:newline]
                self._header = b""
                position = newline + 1
                self._line(line)
        return self._take()

    def end(self) -> list[Cut]:
        if self._missing or self._skipping or self._has_headers or self._header.strip():
            self._refuse("the stream ended in the middle of a frame")
        return self._take()

    def _take(self) -> list[Cut]:
        cuts = [*self._cuts, self._frames] if self._frames else self._cuts
        self._cuts, self._frames = [], []
        return cuts

    def _body(self, piece: bytes) -> None:
        self._missing -= len(piece)
        if self._missing:
            self._kept.keep(piece)
            return
        frame = self._kept.complete(piece).strip()
        if b"\n" in frame:
            frame = frame.replace(b"\n", b" ")
        if frame:
            self._frames.append(frame)

    def _line(self, line: bytes) -> None:
        if not line.strip():
            if self._has_headers:
                self._end_of_headers()
        elif length := _LENGTH.search(line):
            if length.start():
                self._refuse_once(_STRAY)
            self._length, self._has_headers = int(length[1]), True
        elif _OTHER_HEADER.match(line):
            self._has_headers = True
        else:
            self._refuse_once(_STRAY)

    def _end_of_headers(self) -> None:
        length, self._length, self._has_headers = self._length, None, False
        if length is None:
            self._refuse_once("its headers have no Content-Length that is a number")
            return
        self._is_refused = False
        if length > self._limit:
            self._skipping = length
            self._refuse(too_long(self._limit))
        else:
            self._missing = length

    def _keep_header(self, piece: bytes) -> None:
        header = self._header + piece
        if len(header) > _HEADER_LIMIT:
            self._refuse_once(_STRAY)
            header = header[-64:]  # the next Content-Length may follow what is skipped without a newline
        self._header = header

    def _refuse_once(self, reason: str) -> None:
        if not self._is_refused:
            self._is_refused = True
            self._refuse(reason)

    def _refuse(self, reason: str | FrameRejected) -> None:
        if self._frames:
            self._cuts.append(self._frames)
            self._frames = []
        self._cuts.append(FrameRejected(reason) if isinstance(reason, str) else reason)


def too_long(limit: int) -> FrameRejected:
    """What the receiver is told of a frame past its limit."""
    return FrameRejected(
        f"a frame is longer than the limit of {limit} bytes; the rest of it was skipped", is_too_long=True
    )


# A pause takes effect after so many frames at the latest, however short they are.
_SLICE = 256


class _Silence(NamedTuple):
    reason: ConnectionClosed


Event: TypeAlias = list[bytes] | FrameRejected | _Silence | ConnectionClosed


class Arrivals:
    """Delivers at once when nothing is held, and tells of the end exactly once, after everything else.

    Once all has been read, holding it back saves no memory, and may keep the end from being seen: from then on a pause
    lasts for one turn of the loop.
    """

    def __init__(self, receiver: Receiver, frame_limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._cutter = Cutter(frame_limit)
        self._held: deque[Event] = deque()
        self._is_over = False
        self._is_silent = False
        self._is_closing = False
        self.is_paused = False
        self.count = 0

    @property
    def framing(self) -> Framing | None:
        """How the other side frames, once that is known."""
        return self._cutter.framing

    @property
    def is_over(self) -> bool:
        """Whether the receiver has been told of the end."""
        return self._is_over

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.count += 1
        if self._is_silent:
            return
        for cut in self._cutter.feed(data):
            self._deliver(cut)

    def pause(self) -> None:
        """Hold everything from now on."""
        self.is_paused = True
        if self._is_silent:
            self._loop.call_soon(self.resume)

    def resume(self) -> None:
        """Release what was held with the next tick."""
        if self.is_paused:
            self.is_paused = False
            if self._held:
                self._loop.call_soon(self._release)

    def end(self, reason: ConnectionClosed) -> None:
        """Nothing more arrives; the receiver, who can still send, learns why after it has got everything before."""
        if not self._is_silent:
            self._fall_silent()
            self._deliver(_Silence(reason))

    def lose(self, reason: ConnectionClosed) -> None:
        """As `end`, and nothing can be sent either."""
        if not self._is_closing:
            self._is_closing = True
            self._fall_silent()
            self._deliver(reason)

    def _fall_silent(self) -> None:
        if not self._is_silent:
            for cut in self._cutter.end():
                self._deliver(cut)
            self._is_silent = True
            if self.is_paused:
                self._loop.call_soon(self.resume)

    def discard(self) -> None:
        """Drop what is held and what still arrives: this side has closed."""
        self._is_closing = self._is_silent = True
        self._held.clear()

    def close(self, reason: ConnectionClosed) -> None:
        """Tell of the end now, whatever was held."""
        self.discard()
        self._hand_over(reason)

    def _deliver(self, event: Event) -> None:
        if self.is_paused or self._held:
            self._held.append(event)
        else:
            self._hand_over(event)
            if self._held:
                self._release()

    def _release(self) -> None:
        while self._held and not self.is_paused:
            self._hand_over(self._held.popleft())

    def _hand_over(self, event: Event) -> None:
        if self._is_over:
            return
        if isinstance(event, list):
            if len(event) > _SLICE:
                slices = [event[start : start + _SLICE] for start in range(0, len(event), _SLICE)]
                self._held.extendleft(slices[:0:-1])
                event = slices[0]
            self._receiver.frames_received(event)
        elif isinstance(event, FrameRejected):
            self._receiver.frame_rejected(event)
        elif isinstance(event, _Silence):
            self._receiver.input_ended(event.reason)
        else:
            self._is_over = True
            self._receiver.connection_lost(event)
