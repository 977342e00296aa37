"""Some lines of a text of any length, in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Callable

from accord.local.refusals import unusable

__all__ = ["count", "part", "part_of"]

_CHUNK = 1024 * 1024


def part(read: Callable[[int], bytes], path: str, line: int | None, limit: int | None, most: int) -> str:
    """The text from `line` on, `limit` lines of it, but no more than `most` bytes.

    A line ends with a newline, which belongs to it, so parts that follow each other join to the whole.
    """
    start = (line or 1) - 1
    stop = None if limit is None else start + limit
    found = 0  # newlines before the chunk
    taken = bytearray()
    while (stop is None or found < stop) and (chunk := read(_CHUNK)):
        newlines = chunk.count(b"\n")
        if found + newlines >= start:
            begin = _after(chunk, start - found)
            end = len(chunk) if stop is None or found + newlines < stop else _after(chunk, stop - found)
            taken += chunk[begin:end]
            if len(taken) > most:
                raise unusable("read", path, f"that is more than {most} bytes; ask for fewer lines with line and limit")
        found += newlines
    try:
        return taken.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unusable("read", path, "it is not text in UTF-8") from error


def part_of(text: str, line: int | None, limit: int | None, path: str = "", most: int | None = None) -> str:
    """The same of a text that we have."""
    content = text.encode()
    return part(io.BytesIO(content).read, path, line, limit, len(content) if most is None else most)


def count(text: str) -> int:
    """How many lines there are; one that is not ended is one, too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _after(chunk: bytes, newlines: int) -> int:
    """Where the chunk goes on after so many newlines."""
    position = 0
    for _ in range(newlines):
        position = chunk.index(b"\n", position) + 1
    return position
