"""Frames on a blocking pipe with nothing between the program and the system calls."""

from __future__ import annotations

import os
from collections.abc import Iterator

__all__ = ["receive_lines", "send_line"]

_PIPE_CAPACITY = 1 << 16


def receive_lines(descriptor: int) -> Iterator[bytes | bytearray]:
    partial = bytearray()
    while chunk := os.read(descriptor, _PIPE_CAPACITY):
        first, *others = chunk.split(b"\n")
        if not others:
            partial += first
            continue
        if partial:
            partial += first
            yield partial
            partial = bytearray()
        else:
            yield first
        partial += others.pop()
        yield from others


def send_line(descriptor: int, frame: bytearray) -> None:
    """Write a frame to which the newline is added in place, so that a big one is not copied."""
    frame += b"\n"
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
