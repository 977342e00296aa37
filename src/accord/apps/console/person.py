"""The person at the terminal: questions on stderr, answers from stdin, a line each.

Law: what was typed before a question was shown is no answer to it, and what is typed answers the one that was shown last.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from accord.apps.console.output import Output

__all__ = ["Person", "is_attached"]


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
