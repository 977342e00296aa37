"""The person at the terminal: questions on stderr, answers from stdin, a line each.

Law: what was typed before a question was shown is no answer to it, and what is typed answers the one that was shown last.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

from accord.apps.console.output import Output
from accord.local.letters import most_cells

__all__ = ["Person", "is_attached"]

_MORE = "-- page {} of {}, Enter for more, n for no: "


def is_attached() -> bool:
    """Whether somebody can be asked: they see stderr and type into stdin."""
    streams = (sys.__stdin__, sys.__stderr__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


class Person:
    """Hears one asker at a time. A question may be withdrawn, by cancelling who waits for its answer."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._turns = asyncio.Lock()
        self._wanted = 0
        self._is_wanted = asyncio.Event()
        self._reading: asyncio.Future[str | None] | None = None

    @asynccontextmanager
    async def attention(self) -> AsyncGenerator[None]:
        """Inside nobody else asks: what belongs to a question is told in here, too."""
        self._wanted += 1
        self._is_wanted.set()
        try:
            async with self._turns:
                yield
        finally:
            self._wanted -= 1
            if not self._wanted:
                self._is_wanted.clear()

    def tell(self, text: str) -> None:
        """Show something, inside `attention`."""
        self._fresh_line()
        self._output.write(text)

    async def reads(self, lines: Sequence[str]) -> bool:
        """Show what is to be decided, inside `attention`, at most a screen of it at once; False for one who stops reading."""
        pages = list(_pages(lines, self._output.size()))
        for place, page in enumerate(pages, start=1):
            self.tell(page)
            if place < len(pages):
                typed = await self.ask(_MORE.format(place, len(pages)))
                if typed is None or typed.strip():
                    return False
        return True

    async def ask(self, question: str) -> str | None:
        """The line that was typed, without its end, inside `attention`; None when there is nobody any more."""
        assert self._turns.locked()
        reading = self._shown(question)
        try:
            return await asyncio.shield(reading)
        finally:
            self._over(reading)

    async def prompted(self, question: str) -> str | None:
        """As `ask`, for what has time: whoever wants attention meanwhile goes first, then this is asked again."""
        while True:
            async with self._turns:
                reading = self._shown(question)
                wanted = asyncio.create_task(self._is_wanted.wait(), name="accord wanted")
                try:
                    await asyncio.wait((reading, wanted), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    wanted.cancel()
                    self._over(reading)
                if reading.done():
                    return reading.result()

    def _shown(self, question: str) -> asyncio.Future[str | None]:
        _forget_what_was_typed()
        if self._reading is None or self._reading.done():
            self._reading = _line_in_thread()
        self._fresh_line()
        self._output.write(question)
        return self._reading

    def _over(self, reading: asyncio.Future[str | None]) -> None:
        if reading.done():
            self._output.at_line_start = True  # the terminal has shown the line end that was typed
        else:
            self._fresh_line()

    def _fresh_line(self) -> None:
        if not self._output.at_line_start:
            self._output.write("\n")


def _pages(lines: Sequence[str], size: tuple[int, int] | None) -> Iterator[str]:
    """Texts that fit on a terminal of so many columns and lines, above the question; one, where that is unknown."""
    if size is None:
        yield "".join(f"{line}\n" for line in lines)
        return
    columns, height = size
    room = max(1, height - 1 - len(_MORE) // columns)
    rows = [row for line in lines for row in _rows(line, columns)]
    for begin in range(0, len(rows), room):
        yield "".join(rows[begin : begin + room])


def _rows(line: str, columns: int) -> Iterator[str]:
    """What of it stands in each row; only the last one has an end: the terminal goes on in the next by itself."""
    begin = cells = 0
    for place, letter in enumerate(line):
        cells += most_cells(letter)
        if cells > columns:
            yield line[begin:place]
            begin, cells = place, most_cells(letter)
    yield f"{line[begin:]}\n"


def _forget_what_was_typed() -> None:
    if sys.platform != "win32":
        import termios  # noqa: PLC0415  # exists only there

        with suppress(OSError, termios.error):
            termios.tcflush(0, termios.TCIFLUSH)


def _line_in_thread() -> asyncio.Future[str | None]:
    # A thread of its own: the end of the program waits for asyncio's, and somebody may never press a key.
    loop = asyncio.get_running_loop()
    read: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None) -> None:
        if not read.done():
            read.set_result(line)

    def run() -> None:
        try:
            line = os.read(0, 64 * 1024)
        except OSError:
            line = b""
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, line.decode("utf-8", "replace").rstrip("\r\n") if line else None)

    threading.Thread(target=run, name="accord question", daemon=True).start()
    return read
