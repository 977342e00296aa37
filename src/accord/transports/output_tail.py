"""The last part of a command's output, as text."""

from __future__ import annotations

import codecs


class OutputTail:
    """Keeps the longest tail of the output that begins with a whole character and has at most `limit` bytes of UTF-8.

    The output arrives in chunks that may end inside a character; an incomplete character is left out until it is
    complete. Invalid UTF-8 becomes U+FFFD. AMB-63
    """

    def __init__(self, limit: int) -> None:
        self.is_truncated = False
        self._limit = limit
        self._buffer = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __len__(self) -> int:
        return len(self._buffer)

    @property
    def text(self) -> str:
        """The tail."""
        return self._buffer.decode()

    def add(self, chunk: bytes) -> None:
        """Append a chunk of output."""
        self._append(self._decoder.decode(chunk))

    def finish(self) -> None:
        """End of output: an incomplete character at the end becomes U+FFFD."""
        self._append(self._decoder.decode(b"", final=True))

    def drop(self) -> None:
        """Drop everything, now and from now on."""
        self._limit = 0
        self._truncate()

    def _append(self, text: str) -> None:
        self._buffer += text.encode()
        self._truncate()

    def _truncate(self) -> None:
        buffer = self._buffer
        start = len(buffer) - self._limit
        if start <= 0:
            return
        self.is_truncated = True  # TERM-21
        while start < len(buffer) and buffer[start] & 0xC0 == 0x80:  # TERM-11: not inside a character
            start += 1
        del buffer[:start]  # cheap for a bytearray
