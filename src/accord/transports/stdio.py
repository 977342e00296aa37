"""The transport over this process's own stdin and stdout.

While it is open, descriptor 0 is the null device and descriptor 1 is stderr: what a `print()`, a C library or a child
process writes lands in the log, and nothing but us reads the protocol's input. The originals come back on closing.

Pipes and sockets go through the loop, everything else through threads: asyncio refuses regular files, and uvloop ends
the process on them.
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import socket
import stat
import sys
from contextlib import suppress

from accord.errors import ConnectionClosed
from accord.transports.blocking_io import ThreadReader, ThreadWriter
from accord.transports.framing import FRAME_LIMIT, Framing
from accord.transports.stream_pair import Duplex
from accord.transports.streams import Descriptor, LoopReader, LoopWriter, OnBytes, OnEnd, Reader, Writer, is_hung_up
from accord.transports.transport import HIGH_WATER, Receiver

__all__ = ["Stdio", "private_reader", "private_writer", "shared_reader", "shared_writer"]

_FLUSH_SECONDS = 5.0
_LOOK_SECONDS = 0.2


class Stdio(Duplex):
    """Pipes, sockets, files and terminals all work. What was read before the end of stdin can still be answered."""

    _taken: _Taken | None = None
    _look: asyncio.TimerHandle | None = None

    def __init__(
        self, *, framing: Framing | None = None, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER
    ) -> None:
        super().__init__(framing=framing, frame_limit=frame_limit, high_water=high_water)
        self.over = asyncio.Event()
        """Set when stdin has ended, or nobody reads stdout any more."""

    async def open(self, receiver: Receiver) -> None:
        """Take stdin and stdout over; from here on nobody else can reach them."""
        if self._closing is not None:
            raise ConnectionClosed("it was closed before it was opened", kind="not_open")
        self._taken = taken = _Taken()
        try:
            self._attach(receiver, shared_writer(taken.stdout, self._broken))
            self._reader = shared_reader(taken.stdin, self._arrived, self._ended)
        except BaseException:
            self._taken = None
            taken.give_back()
            raise

    async def _close(self) -> None:
        try:
            if self._arrivals is not None and self._departures is not None and self._writer is not None:
                self._arrivals.discard()
                self._departures.close()
                await asyncio.wait([self._writer.finish()], timeout=_FLUSH_SECONDS)
        finally:
            self._release()

    def _release(self) -> None:
        if self._look is not None:
            self._look.cancel()
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()
        if self._taken is not None:
            self._taken.give_back()
            self._taken = None
        if self._arrivals is not None:
            self._arrivals.close(ConnectionClosed("closed by this side", kind="closed_here"))

    def _ended(self, error: OSError | None) -> None:
        self.over.set()
        why = "the other side closed our input" if error is None else f"reading our input failed: {error}"
        self._silent(ConnectionClosed(why))
        self._look_for_readers()

    def _look_for_readers(self) -> None:
        """Nothing may be left to write; without a look nobody would learn that the other side is gone altogether."""
        if self._taken is None or self._closing is not None:
            return
        if is_hung_up(self._taken.stdout):
            self._broken(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        else:
            self._look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look_for_readers)

    def _broken(self, error: OSError | None) -> None:
        self.over.set()
        self._lost(ConnectionClosed(f"the other side no longer reads our output: {error}"))


class _Taken:
    """The real stdin and stdout, and everybody else pointed elsewhere."""

    _is_taken = False

    def __init__(self) -> None:
        if _Taken._is_taken:
            raise ConnectionClosed(
                "stdin and stdout already serve another connection; close that one first", kind="not_started"
            )
        # Where one of them was closed, its number may since have gone to something else, such as the loop's own epoll.
        if sys.__stdin__ is None:
            raise ConnectionClosed("there is no stdin to read; start this process with one", kind="not_started")
        if sys.__stdout__ is None:
            raise ConnectionClosed("there is no stdout to write; start this process with one", kind="not_started")
        self.stdin = os.dup(0)
        self.stdout = os.dup(1)
        _Taken._is_taken = True
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null if sys.__stderr__ is None else 2, 1)
        os.close(null)
        self._was_line_buffered = _print_at_once(True)
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  # exists only there

            for descriptor in (self.stdin, self.stdout):
                msvcrt.setmode(descriptor, os.O_BINARY)

    def give_back(self) -> None:
        _print_at_once(self._was_line_buffered)
        os.dup2(self.stdin, 0)
        os.dup2(self.stdout, 1)
        os.close(self.stdin)
        os.close(self.stdout)
        _Taken._is_taken = False


def _print_at_once(line_buffered: bool) -> bool:
    # Also flushes, so that what was printed before goes where stdout points now, not where it will point next.
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper):
        return False
    before = stdout.line_buffering
    with suppress(OSError, ValueError):
        stdout.reconfigure(line_buffering=line_buffered)
        stdout.flush()
    return before


def shared_reader(descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> Reader:
    """A reader of what others may have open as well; it has a descriptor of its own."""
    watchable = _watchable(descriptor, os.O_RDONLY)
    if watchable is not None:
        return LoopReader(watchable, on_bytes, on_end)
    return ThreadReader(os.dup(descriptor), on_bytes, on_end)


def shared_writer(descriptor: int, on_broken: OnEnd) -> Writer:
    """A writer to what others may have open as well; it has a descriptor of its own."""
    watchable = _watchable(descriptor, os.O_WRONLY)
    if watchable is not None:
        return LoopWriter(watchable, on_broken)
    return ThreadWriter(os.dup(descriptor), on_broken)


def private_reader(descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> Reader:
    """A reader of our own end of a pipe; the descriptor becomes the reader's."""
    if sys.platform == "win32":
        return ThreadReader(descriptor, on_bytes, on_end)
    os.set_blocking(descriptor, False)
    return LoopReader(descriptor, on_bytes, on_end)


def private_writer(descriptor: int, on_broken: OnEnd) -> Writer:
    """A writer to our own end of a pipe; the descriptor becomes the writer's."""
    if sys.platform == "win32":
        return ThreadWriter(descriptor, on_broken)
    os.set_blocking(descriptor, False)
    return LoopWriter(descriptor, on_broken)


def _watchable(descriptor: int, access: int) -> Descriptor | None:
    if sys.platform == "win32":
        return None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return socket.socket(fileno=os.dup(descriptor))  # each call says itself that it must not block
    if stat.S_ISFIFO(mode):
        # On Linux this opens the same pipe anew, and only our new description is non-blocking. Elsewhere, and where the
        # pipe belongs to another user, a thread has to do.
        try:
            return os.open(f"/proc/self/fd/{descriptor}", access | os.O_NONBLOCK)
        except OSError:
            return None
    return None
