"""The transport ended this process's own stdin and stdout.

While it is open, descriptor 0 is the null device and descriptor 1 is stderr: output of `print()`, C libraries and child
processes goes to stderr, and only the transport reads the protocol's input. Closing restores both.

Pipes and sockets are read through the loop, everything else through threads: asyncio rejects regular files, and uvloop
aborts the process for them.
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
from accord.transports.framing import FRAME_LIMIT, Framing
from accord.transports.stream_pair import StreamPair
from accord.transports.streams import (
    ByteReader,
    ByteWriter,
    Descriptor,
    LoopReader,
    LoopWriter,
    OnBytes,
    OnEnd,
    is_hung_up,
)
from accord.transports.transport import HIGH_WATER, Receiver

_FLUSH_SECONDS = 5.0
_POLL_SECONDS = 0.2


class StdioTransport(StreamPair):
    """Works with pipes, sockets, files and terminals. After the end of stdin, responses can still be sent."""

    _streams: _StandardStreams | None = None
    _poll_timer: asyncio.TimerHandle | None = None

    def __init__(
        self, *, framing: Framing | None = None, frame_limit: int = FRAME_LIMIT, high_water: int = HIGH_WATER
    ) -> None:
        super().__init__(framing=framing, frame_limit=frame_limit, high_water=high_water)
        self.ended = asyncio.Event()
        """Set at the end of stdin, or when nobody reads stdout any more."""

    async def open(self, receiver: Receiver) -> None:
        """Take over stdin and stdout; other code in this process can no longer use them."""
        if self._close_task is not None:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        self._streams = streams = _StandardStreams()
        try:
            self._attach(receiver, shared_writer(streams.stdout, self._stdout_broken))
            self._reader = shared_reader(streams.stdin, self._bytes_received, self._stdin_ended)
        except BaseException:
            self._streams = None
            streams.restore()
            raise

    async def _close(self) -> None:
        try:
            if self._frame_reader is not None and self._frame_writer is not None and self._writer is not None:
                self._frame_reader.discard()
                self._frame_writer.close()
                await asyncio.wait([self._writer.finish()], timeout=_FLUSH_SECONDS)
        finally:
            self._release()

    def _release(self) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()
        if self._streams is not None:
            self._streams.restore()
            self._streams = None
        if self._frame_reader is not None:
            self._frame_reader.close(ConnectionClosed("closed by this side", kind="closed_here"))

    def _stdin_ended(self, error: OSError | None) -> None:
        self.ended.set()
        why = "the other side closed stdin" if error is None else f"reading stdin failed: {error}"
        self._end_input(ConnectionClosed(why))
        self._poll_hangup()

    def _poll_hangup(self) -> None:
        """Poll: if nothing is left to write, no error would show that the other side is gone completely."""
        if self._streams is None or self._close_task is not None:
            return
        if is_hung_up(self._streams.stdout):
            self._stdout_broken(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        else:
            self._poll_timer = asyncio.get_running_loop().call_later(_POLL_SECONDS, self._poll_hangup)

    def _stdout_broken(self, error: OSError | None) -> None:
        self.ended.set()
        self._lose(ConnectionClosed(f"the other side no longer reads stdout: {error}"))


class _StandardStreams:
    """The original stdin and stdout; descriptors 0 and 1 point elsewhere."""

    _in_use = False

    def __init__(self) -> None:
        if _StandardStreams._in_use:
            raise ConnectionClosed(
                "stdin and stdout are in use by another connection; close that one first", kind="not_started"
            )
        # If one of them is closed, something else may have its number, such as the loop's epoll.
        if sys.__stdin__ is None:
            raise ConnectionClosed("this process has no stdin; start it with one", kind="not_started")
        if sys.__stdout__ is None:
            raise ConnectionClosed("this process has no stdout; start it with one", kind="not_started")
        self.stdin = os.dup(0)
        self.stdout = os.dup(1)
        _StandardStreams._in_use = True
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null if sys.__stderr__ is None else 2, 1)
        os.close(null)
        self._was_line_buffered = _set_line_buffering(True)
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  # exists only there

            for descriptor in (self.stdin, self.stdout):
                msvcrt.setmode(descriptor, os.O_BINARY)

    def restore(self) -> None:
        _set_line_buffering(self._was_line_buffered)
        os.dup2(self.stdin, 0)
        os.dup2(self.stdout, 1)
        os.close(self.stdin)
        os.close(self.stdout)
        _StandardStreams._in_use = False


def _set_line_buffering(line_buffered: bool) -> bool:
    # Also flushes, so that earlier output goes where stdout points now.
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper):
        return False
    before = stdout.line_buffering
    with suppress(OSError, ValueError):
        stdout.reconfigure(line_buffering=line_buffered)
        stdout.flush()
    return before


def shared_reader(descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> ByteReader:
    """A reader of a descriptor that others may use too; it reads from its own duplicate."""
    watchable = _watchable(descriptor, os.O_RDONLY)
    if watchable is not None:
        return LoopReader(watchable, on_bytes, on_end)
    return _thread_reader(os.dup(descriptor), on_bytes, on_end)


def shared_writer(descriptor: int, on_broken: OnEnd) -> ByteWriter:
    """A writer to a descriptor that others may use too; it writes to its own duplicate."""
    watchable = _watchable(descriptor, os.O_WRONLY)
    if watchable is not None:
        return LoopWriter(watchable, on_broken)
    return _thread_writer(os.dup(descriptor), on_broken)


def private_reader(descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> ByteReader:
    """A reader of our own end of a pipe; it owns the descriptor."""
    if sys.platform == "win32":
        return _thread_reader(descriptor, on_bytes, on_end)
    os.set_blocking(descriptor, False)
    return LoopReader(descriptor, on_bytes, on_end)


def private_writer(descriptor: int, on_broken: OnEnd) -> ByteWriter:
    """A writer to our own end of a pipe; it owns the descriptor."""
    if sys.platform == "win32":
        return _thread_writer(descriptor, on_broken)
    os.set_blocking(descriptor, False)
    return LoopWriter(descriptor, on_broken)


def _thread_reader(descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> ByteReader:
    from accord.transports.blocking_io import ThreadReader  # noqa: PLC0415  # not loaded by an agent on pipes

    return ThreadReader(descriptor, on_bytes, on_end)


def _thread_writer(descriptor: int, on_broken: OnEnd) -> ByteWriter:
    from accord.transports.blocking_io import ThreadWriter  # noqa: PLC0415  # as for the reader

    return ThreadWriter(descriptor, on_broken)


def _watchable(descriptor: int, access: int) -> Descriptor | None:
    if sys.platform == "win32":
        return None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return socket.socket(fileno=os.dup(descriptor))  # each call asks for non-blocking behaviour itself
    if stat.S_ISFIFO(mode):
        # On Linux this opens the same pipe again, and only our new description is non-blocking. Elsewhere, and if the
        # pipe belongs to another user, a thread is needed.
        try:
            return os.open(f"/proc/self/fd/{descriptor}", access | os.O_NONBLOCK)
        except OSError:
            return None
    return None
