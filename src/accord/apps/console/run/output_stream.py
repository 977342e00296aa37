"""Where a run writes: stdout and stderr, without ever blocking the event loop, in the order of what was written.

Law: a reader that is slow slows the turn down, one that is gone ends it; neither keeps a signal from being heard.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from typing import TextIO

from accord.apps.console.sanitizer import keep_colours
from accord.transports.stdio import shared_writer

_HIGH_WATER = 64 * 1024


class OutputStream:
    """One descriptor; `broken` is done once nothing can be written to it: nobody reads it, or for `failure`."""

    def __init__(self, descriptor: int, *, is_terminal: bool, encoding: str = "utf-8") -> None:
        self.is_terminal = is_terminal
        self.at_line_start = True
        self.failure: OSError | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._descriptor = descriptor
        self._encoding = encoding
        self._writer = shared_writer(descriptor, self._broke)
        self._progress = asyncio.Event()
        self._writer.on_progress = self._progress.set

    def size(self) -> tuple[int, int] | None:
        """How many columns and lines the terminal has; None for no terminal, or one that does not say."""
        try:
            size = os.get_terminal_size(self._descriptor)
        except (OSError, ValueError):
            return None
        return (size.columns, size.lines) if size.columns > 1 and size.lines > 1 else None

    def write(self, text: str) -> None:
        """Never waits; `room` does. Of what a terminal obeys, only colours get through."""
        if text:
            self.at_line_start = text.endswith("\n")
            self._writer.write(keep_colours(text).encode(self._encoding, "replace"))

    def write_bytes(self, line: bytes) -> None:
        """As `write`, for what is encoded already."""
        self._writer.write(line)

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        while self._writer.unsent > _HIGH_WATER and not self.broken.done():
            self._progress.clear()
            waiting = asyncio.ensure_future(self._progress.wait())
            await asyncio.wait((waiting, self.broken), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def finish(self) -> None:
        """Returns when all was written, or can't be."""
        await asyncio.wait((self._writer.finish(), self.broken), return_when=asyncio.FIRST_COMPLETED)

    def close(self) -> None:
        """Give up what is not written yet."""
        self._writer.close()

    def _broke(self, error: OSError | None) -> None:
        if not self.broken.done():
            if error is not None and error.errno not in (errno.EPIPE, errno.ECONNRESET):
                self.failure = error
            self.broken.set_result(None)


class StandardStreams:
    """Stdout for the answer and stderr for what happens; one writer for both where they are the same thing."""

    def __init__(self) -> None:
        self.err = _output(sys.__stderr__, 2)
        self.are_one = sys.__stdout__ is not None and sys.__stderr__ is not None and _same_thing(1, 2)
        self.out = self.err if self.are_one else _output(sys.__stdout__, 1)

    @property
    def all(self) -> list[OutputStream]:
        return list({id(each): each for each in (self.out, self.err)}.values())

    async def room(self) -> None:
        for each in self.all:
            await each.room()

    async def finish(self) -> None:
        for each in self.all:
            await each.finish()

    def close(self) -> None:
        for each in self.all:
            each.close()


def _output(stream: TextIO | None, descriptor: int) -> OutputStream:
    if stream is None:  # it was closed; its number may by now be something else's
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            return OutputStream(null, is_terminal=False)
        finally:
            os.close(null)
    stream.flush()
    return OutputStream(descriptor, is_terminal=os.isatty(descriptor), encoding=stream.encoding or "utf-8")


def _same_thing(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    if os.isatty(one) and os.isatty(other):
        return first.st_rdev == second.st_rdev
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
