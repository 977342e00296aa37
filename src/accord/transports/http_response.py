"""Reads the response to an HTTP/1.1 request from its bytes, without a socket (RFC 9112)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

HEAD_LIMIT = 64 * 1024
"""The most bytes of a status line with its headers, and of the end of a chunked body."""

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: ([^\r\n]*))?")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_NO_BODY = (204, 304)


class ResponseReader:
    """`on_body` gets the body, piece by piece. ConnectionError for what is not a response."""

    def __init__(self, on_body: Callable[[bytes], object]) -> None:
        self._on_body = on_body
        self.status_code = 0
        """0 until the head is complete."""
        self.reason_phrase = ""
        self.headers: dict[str, str] = {}
        """By their lower-case names; repeated ones are joined with commas."""
        self.cookies: list[str] = []
        self.is_complete = False
        self.keeps_alive = True
        """Whether the connection can be used for another request."""
        self._step: Callable[[bytes], bytes | None] = self._read_head
        self._rest = b""
        self._left = 0  # bytes of a body of known size, or of a chunk
        self._is_chunked = False

    def feed(self, data: bytes) -> None:
        """Read more bytes; none are expected after the end of the response."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        while data:
            if self.is_complete:
                self.keeps_alive = False
                return
            following = self._step(data)
            if following is None:
                if len(data) > HEAD_LIMIT:
                    raise ConnectionError("the response has too long a head")
                self._rest = data
                return
            data = following

    def end(self) -> None:
        """The server has closed the connection. ConnectionError if that is not the end of the response."""
        self.keeps_alive = False
        if self.status_code and self._left > sys.maxsize // 2:
            self.is_complete = True
        elif not self.is_complete:
            raise ConnectionError("the server closed the connection in the middle of a response")

    def _read_head(self, data: bytes) -> bytes | None:
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return None
        first, *lines = head.split(b"\r\n")
        status = _STATUS.fullmatch(first)
        if status is None:
            raise ConnectionError("the server does not speak HTTP/1.1")
        if status[1][:1] == b"1":
            return rest  # 100 Continue, 103 Early Hints
        for line in lines:
            self._add_header(line)
        self.reason_phrase = (status[2] or b"").decode("latin-1")
        self._begin_body(int(status[1]), old=first[:8] == b"HTTP/1.0")
        return rest

    def _add_header(self, line: bytes) -> None:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or name != name.strip():
            raise ConnectionError("the response has a header that is not one")
        name, value = name.lower(), value.strip()
        if name == "set-cookie":
            self.cookies.append(value)
        self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value

    def _begin_body(self, status: int, *, old: bool) -> None:
        self.status_code = status
        self.keeps_alive = not old and "close" not in self.headers.get("connection", "").lower()
        length = self.headers.get("content-length")
        if status in _NO_BODY:
            self.is_complete = True
        elif (coding := self.headers.get("transfer-encoding")) is not None:
            if coding.lower() != "chunked":
                raise ConnectionError(f"the response has the unknown transfer coding {coding!r}")
            self._is_chunked = True
            self._step = self._read_size
        elif length is None:
            self._left, self._step, self.keeps_alive = sys.maxsize, self._read_body, False
        elif not length.isascii() or not length.isdecimal() or len(length) > 15:
            raise ConnectionError("the response has a length that is not a number")
        else:
            self._left, self._step = int(length), self._read_body
            self.is_complete = not self._left

    def _read_body(self, data: bytes) -> bytes:
        piece, rest = (data, b"") if len(data) <= self._left else (data[: self._left], data[self._left :])
        self._left -= len(piece)
        if not self._left:
            self._step = self._read_chunk_end
            self.is_complete = not self._is_chunked
        self._on_body(piece)
        return rest

    def _read_size(self, data: bytes) -> bytes | None:
        line, end, rest = data.partition(b"\r\n")
        if not end:
            return None
        size = line.partition(b";")[0].strip()
        if _CHUNK_SIZE.fullmatch(size) is None:
            raise ConnectionError("the response has a chunk without a size")
        self._left = int(size, 16)
        self._step = self._read_body if self._left else self._read_trailer
        return rest

    def _read_chunk_end(self, data: bytes) -> bytes | None:
        if len(data) < 2:
            return None
        if data[:2] != b"\r\n":
            raise ConnectionError("the response has a chunk that is longer than its size")
        self._step = self._read_size
        return data[2:]

    def _read_trailer(self, data: bytes) -> bytes | None:
        line, end, rest = data.partition(b"\r\n")
        if not end:
            return None
        self.is_complete = not line
        return rest
