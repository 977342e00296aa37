"""The end of a command's output, as text."""

from __future__ import annotations

import codecs

__all__ = ["Tail"]


class Tail:
    """Keeps the longest end of an output that starts with a whole character and is no more than `limit` bytes of UTF-8.

    The output comes in pieces cut anywhere. A character that is not complete yet is left out until it is; bytes that
    are no UTF-8 become U+FFFD. AMB-63
    """

    def __init__(self, limit: int) -> None:
        self.is_truncated = False
        self._limit = limit
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def text(self) -> str:
        """What is kept."""
        return self._kept.decode()

    def add(self, piece: bytes) -> None:
        """Take in the next piece."""
        self._keep(self._decoder.decode(piece))

    def finish(self) -> None:
        """No more is expected: a character that was left out as incomplete will not be completed."""
        self._keep(self._decoder.decode(b"", final=True))

    def drop(self) -> None:
        """Keep nothing from now on."""
        self._limit = 0
        self._cut()

    def _keep(self, text: str) -> None:
        self._kept += text.encode()
        self._cut()

    def _cut(self) -> None:
        kept = self._kept
        start = len(kept) - self._limit
        if start <= 0:
            return
        self.is_truncated = True  # TERM-21
        while start < len(kept) and kept[start] & 0xC0 == 0x80:  # TERM-11: not inside a character
            start += 1
        del kept[:start]  # of a bytearray this is cheap
