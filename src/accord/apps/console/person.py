"""The person at the terminal: questions on stderr, answers from stdin, a line each.

Law: what was typed before a question was shown is no answer to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import suppress

from accord.apps.console.output import Output

__all__ = ["Person", "is_attached"]


def is_attached() -> bool:
    """Whether somebody can be asked: they see stderr and type into stdin."""
    streams = (sys.__stdin__, sys.__stderr__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


class Person:
    """Answers one question at a time. A question may be withdrawn, by cancelling who waits for its answer."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._turns = asyncio.Lock()
        self._reading: asyncio.Future[str | None] | None = None

    def tell(self, text: str) -> None:
        """Show something."""
        self._output.write(text)

    async def ask(self, question: str) -> str | None:
        """The line that was typed, without its end; None when there is nobody any more."""
        async with self._turns:
            return await self._ask(question)

    async def _ask(self, question: str) -> str | None:
        if self._reading is None or self._reading.done():
            _forget_what_was_typed()
            self._reading = _line_in_thread()
        if not self._output.at_line_start:
            self._output.write("\n")
        self._output.write(question)
        try:
            return await asyncio.shield(self._reading)
        finally:
            self._output.at_line_start = True  # the terminal has shown the line end that was typed


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
