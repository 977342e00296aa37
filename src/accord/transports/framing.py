"""Framing: splits a byte stream into frames, and joins frames for a stream.

Law: no byte is searched twice, and at most one frame limit of bytes is held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Literal, TypeAlias

from accord.errors import FrameRejected

Framing: TypeAlias = Literal["newline", "content-length"]
ParseResult: TypeAlias = list[bytes] | FrameRejected

FRAME_LIMIT = 64 * 1024 * 1024

_HEADER_LIMIT = 8 * 1024
_STRAY = "expected headers between two frames"
_FIRST_HEADERS = (b"content-length:", b"content-type:")
# The patterns are compiled when they are first used: most peers never send what they are for.
_FIRST_MESSAGE = rb"(?im)^[ \t\r]*([{\[]|content-length:|content-type:)"
_LENGTH = rb"(?i)content-length:[ \t]*([0-9]{1,15})[ \t\r]*\Z"
_OTHER_HEADER = rb"(?i)[a-z][a-z0-9-]*:"


def wrap_frame(frame: bytes, framing: Framing) -> tuple[bytes, bytes]:
    """The two pieces of one frame on the stream; the frame itself is not copied."""
    if b"\n" in frame:
        frame = frame.replace(b"\n", b" ")  # TRANS-15: in JSON a raw newline is always whitespace
    if framing == "newline":
        return frame, b"\n"
    return b"Content-Length: %d\r\n\r\n" % len(frame), frame  # TRANS-07


def join_frames(frames: list[bytes], framing: Framing) -> bytes:
    """The bytes of frames on the stream."""
    if len(frames) == 1 and framing == "newline" and 10 not in frames[0]:  # the fastest way to look for a newline
        return frames[0] + b"\n"
    if framing == "newline" and b"\n" not in b"".join(frames):
        return b"\n".join([*frames, b""])  # TRANS-14
    return b"".join([piece for frame in frames for piece in wrap_frame(frame, framing)])


class FrameParser:
    """Detects the framing of the stream; `framing` is None until it is known."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self.framing: Framing | None = None
        self.feed: Callable[[bytes], list[ParseResult]] = self._detect
        self._limit = limit
        self._lines = _LineParser(limit)
        self._blocks: _HeaderParser | None = None
        self._start = b""

    def end(self) -> list[ParseResult]:
        """The frames completed by the end of the stream: the last line needs no newline."""
        if self._blocks is not None:
            return self._blocks.end()
        return self._lines.feed(self._start + b"\n")

    def _detect(self, data: bytes) -> list[ParseResult]:
        # Lines that are neither JSON nor a header are passed on and decide nothing: some programs print something first.
        data = self._start + data
        self._start = b""
        first = 0
        if self._lines.is_inside_line:
            first = data.find(b"\n") + 1
            if not first:
                return self._lines.feed(data)
        elif data[:1] in (b"{", b"["):  # nearly always
            self.framing, self.feed = "newline", self._lines.feed
            return self.feed(data)
        message = re.compile(_FIRST_MESSAGE).search(data, first)
        if message is None:
            end = data.rfind(b"\n") + 1
            last = data[end:].lstrip(b" \t\r")
            if any(header.startswith(last.lower()) for header in _FIRST_HEADERS):
                self._start = last
                data = data[:end]
            return self._lines.feed(data)
        results = self._lines.feed(data[: message.start()])
        if message[1] in (b"{", b"["):
            self.framing, self.feed = "newline", self._lines.feed
        else:
            self.framing, self._blocks = "content-length", _HeaderParser(self._limit)
            self.feed = self._blocks.feed
        return results + self.feed(data[message.start(1) :])


class _FrameBuffer:
    """The pieces of one incomplete frame."""

    # BytesIO.getvalue() returns its own buffer without a copy; joining a list would need the memory twice.

    def __init__(self) -> None:
        self.size = 0
        self._bytes: BytesIO | None = None

    def append(self, piece: bytes) -> None:
        if self._bytes is None:
            self._bytes = BytesIO()
        self._bytes.write(piece)
        self.size += len(piece)

    def complete(self, piece: bytes) -> bytes:
        if self._bytes is None:
            return piece
        self._bytes.write(piece)
        frame = self._bytes.getvalue()
        self.clear()
        return frame

    def clear(self) -> None:
        self.size = 0
        self._bytes = None


class _LineParser:
    """One frame per line; blank lines and carriage returns are dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = _FrameBuffer()
        self._is_skipping = False

    @property
    def is_inside_line(self) -> bool:
        return self._is_skipping or self._buffer.size > 0

    def feed(self, data: bytes) -> list[ParseResult]:
        lines = data.split(b"\n")
        buffer = self._buffer
        if self._is_skipping or buffer.size + len(data) > self._limit:
            return self._feed_near_limit(lines)
        if len(lines) == 2 and not lines[1] and not buffer.size:  # one whole line, as nearly every request is
            frame = lines[0].strip()
            return [[frame]] if frame else []
        rest = lines.pop()
        if lines and buffer.size:
            lines[0] = buffer.complete(lines[0])
        if rest:
            buffer.append(rest)
        frames = [frame for line in lines if (frame := line.strip())]
        return [frames] if frames else []

    def _feed_near_limit(self, lines: list[bytes]) -> list[ParseResult]:
        results: list[ParseResult] = []
        frames: list[bytes] = []
        rest = lines.pop()
        for line in lines:
            if self._is_skipping:
                self._is_skipping = False
            elif self._buffer.size + len(line) > self._limit:
                frames = self._reject(results, frames)
            elif frame := self._buffer.complete(line).strip():
                frames.append(frame)
        if not self._is_skipping and rest:
            if self._buffer.size + len(rest) > self._limit:
                frames = self._reject(results, frames)
                self._is_skipping = True
            else:
                self._buffer.append(rest)
        return [*results, frames] if frames else results

    def _reject(self, results: list[ParseResult], frames: list[bytes]) -> list[bytes]:
        if frames:
            results.append(frames)
        self._buffer.clear()
        results.append(frame_too_long(self._limit))
        return []


class _HeaderParser:
    """One frame after each block of headers; other text is rejected once, and skipped up to the next length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._header = b""
        self._length: int | None = None
        self._has_headers = False
        self._is_rejected = False
        self._missing = 0
        self._skip = 0
        self._buffer = _FrameBuffer()
        self._results: list[ParseResult] = []
        self._frames: list[bytes] = []

    def feed(self, data: bytes) -> list[ParseResult]:
        position = 0
        while position < len(data):
            if self._skip:
                skipped = min(self._skip, len(data) - position)
                self._skip -= skipped
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

    def end(self) -> list[ParseResult]:
        if self._missing or self._skip or self._has_headers or self._header.strip():
            self._reject("the stream ended in the middle of a frame")
        return self._take()

    def _take(self) -> list[ParseResult]:
        results = [*self._results, self._frames] if self._frames else self._results
        self._results, self._frames = [], []
        return results

    def _body(self, piece: bytes) -> None:
        self._missing -= len(piece)
        if self._missing:
            self._buffer.append(piece)
            return
        frame = self._buffer.complete(piece).strip()
        if b"\n" in frame:
            frame = frame.replace(b"\n", b" ")
        if frame:
            self._frames.append(frame)

    def _line(self, line: bytes) -> None:
        if not line.strip():
            if self._has_headers:
                self._end_of_headers()
        elif length := re.search(_LENGTH, line):
            if length.start():
                self._reject_once(_STRAY)
            self._length, self._has_headers = int(length[1]), True
        elif re.match(_OTHER_HEADER, line):
            self._has_headers = True
        else:
            self._reject_once(_STRAY)

    def _end_of_headers(self) -> None:
        length, self._length, self._has_headers = self._length, None, False
        if length is None:
            self._reject_once("the headers have no valid Content-Length")
            return
        self._is_rejected = False
        if length > self._limit:
            self._skip = length
            self._reject(frame_too_long(self._limit))
        else:
            self._missing = length

    def _keep_header(self, piece: bytes) -> None:
        header = self._header + piece
        if len(header) > _HEADER_LIMIT:
            self._reject_once(_STRAY)
            header = header[-64:]  # the next Content-Length may follow skipped text without a newline
        self._header = header

    def _reject_once(self, reason: str) -> None:
        if not self._is_rejected:
            self._is_rejected = True
            self._reject(reason)

    def _reject(self, reason: str | FrameRejected) -> None:
        if self._frames:
            self._results.append(self._frames)
            self._frames = []
        self._results.append(FrameRejected(reason) if isinstance(reason, str) else reason)


def frame_too_long(limit: int) -> FrameRejected:
    """The error for a frame over the limit."""
    return FrameRejected(
        f"a frame is longer than the limit of {limit} bytes; the rest of it was skipped", is_too_long=True
    )
