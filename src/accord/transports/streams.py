"""Reads and writes a descriptor through the event loop, without changing an open file description that is shared.

`BufferedReader` is for sockets that asyncio reads. Readers and writers own their descriptor and close it. asyncio's pipe transports are not used: they make the description
non-blocking for every process that has it, and their read buffer is so large that each small message costs a mapping
and unmapping of memory.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

Descriptor: TypeAlias = int | socket.socket
OnBytes: TypeAlias = Callable[[bytes], None]
OnEnd: TypeAlias = Callable[[OSError | None], None]

_SMALL_CHUNK = 4 * 1024
# Below the size from which malloc maps memory; the larger one is for streams that fill the smaller one.
_CHUNK = 64 * 1024
_LARGE_CHUNK = 256 * 1024
_POLL_SECONDS = 0.5


class ByteReader(Protocol):
    """Calls `on_bytes` for each chunk and `on_end` once, both from the loop."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class ByteWriter(Protocol):
    """Writes in order; after an error it drops everything."""

    on_progress: Callable[[], None]
    unsent: int

    def write(self, piece: bytes) -> None: ...

    def finish(self) -> asyncio.Future[None]:
        """Close when everything is written; the future is done when it is closed."""
        ...

    def close(self) -> None:
        """Close now."""
        ...


class BufferedReader(asyncio.BufferedProtocol):
    """A protocol that reads into its own buffer, which grows when a read fills it, and has `data_received` as others have.

    For asyncio.Protocol a read takes memory that is mapped and unmapped each time: half of a round trip over TCP.
    """

    _buffer = memoryview(b"")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer or self._renew(_SMALL_CHUNK)

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._buffer[:nbytes])
        if nbytes == _SMALL_CHUNK == len(self._buffer):
            self._renew(_CHUNK)
        self.data_received(data)

    def data_received(self, data: bytes) -> None:
        raise NotImplementedError

    def _renew(self, size: int) -> memoryview:
        self._buffer = memoryview(bytearray(size))
        return self._buffer


def is_hung_up(descriptor: Descriptor) -> bool:
    """Whether the other end of a pipe is closed, or that of a socket in this direction."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(descriptor, 0 if isinstance(descriptor, int) else getattr(select, "POLLRDHUP", 0))
    return bool(poll.poll(0))


class LoopReader:
    """Reads when the loop reports input. The descriptor is a socket, or a pipe whose description is non-blocking.

    While paused, it polls for a hang-up. After one, a pause saves nothing and would only hide the end: the little that
    the system still holds is read despite the pause.
    """

    def __init__(self, descriptor: Descriptor, on_bytes: OnBytes, on_end: OnEnd) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_bytes = on_bytes
        self._on_end = on_end
        self._size = _CHUNK
        self._is_reading = False
        self._is_hung_up = False
        self._is_closed = False
        self._poll_timer: asyncio.TimerHandle | None = None
        self.resume()

    def pause(self) -> None:
        if self._is_reading and not self._is_hung_up:
            self._stop()
            self._poll_timer = self._loop.call_later(_POLL_SECONDS, self._poll_hangup)

    def resume(self) -> None:
        if not self._is_reading and not self._is_closed:
            self._is_reading = True
            self._stop_polling()
            _watch(self._loop.add_reader, self._descriptor, self._ready)

    def close(self) -> None:
        if not self._is_closed:
            if self._is_reading:
                self._stop()
            self._stop_polling()
            self._is_closed = True
            _close(self._descriptor)

    def _stop(self) -> None:
        self._is_reading = False
        self._loop.remove_reader(self._descriptor)

    def _stop_polling(self) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()
            self._poll_timer = None

    def _poll_hangup(self) -> None:
        if is_hung_up(self._descriptor):
            self._is_hung_up = True
            self.resume()
        else:
            self._poll_timer = self._loop.call_later(_POLL_SECONDS, self._poll_hangup)

    def _ready(self) -> None:
        if not self._is_reading:
            return
        descriptor = self._descriptor
        try:
            if isinstance(descriptor, int):
                data = os.read(descriptor, self._size)
            else:
                data = descriptor.recv(self._size, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close()
            self._on_end(error)
            return
        if not data:
            self.close()
            self._on_end(None)
            return
        self._size = _LARGE_CHUNK if len(data) == self._size else _CHUNK
        self._on_bytes(data)


class LoopWriter:
    """Writes at once what the system accepts, and the rest, without a copy, when the loop reports room."""

    def __init__(self, descriptor: Descriptor, on_broken: OnEnd) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._pieces: deque[memoryview] = deque()
        self._finished: asyncio.Future[None] | None = None
        self._is_closed = False
        self.on_progress = _nothing
        self.unsent = 0

    def write(self, piece: bytes) -> None:
        if self._is_closed:
            return
        written = 0 if self._pieces else self._write(piece)
        if written < len(piece) and not self._is_closed:
            if not self._pieces:
                _watch(self._loop.add_writer, self._descriptor, self._ready)
            self._pieces.append(memoryview(piece)[written:])
            self.unsent += len(piece) - written

    def finish(self) -> asyncio.Future[None]:
        if self._finished is None:
            self._finished = self._loop.create_future()
            if self._is_closed:
                self._finished.set_result(None)
            elif not self._pieces:
                self.close()
        return self._finished

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            if self._pieces:
                self._loop.remove_writer(self._descriptor)
                self._pieces.clear()
                self.unsent = 0
            _close(self._descriptor)
            if self._finished is not None and not self._finished.done():
                self._finished.set_result(None)

    def _ready(self) -> None:
        pieces = self._pieces
        while pieces:
            written = self._write(pieces[0])
            if self._is_closed:
                return
            self.unsent -= written
            if written < len(pieces[0]):
                pieces[0] = pieces[0][written:]
                break
            pieces.popleft()
        if not pieces:
            self._loop.remove_writer(self._descriptor)
            if self._finished is not None:
                self.close()
        self.on_progress()

    def _write(self, piece: bytes | memoryview) -> int:
        descriptor = self._descriptor
        try:
            if isinstance(descriptor, int):
                return os.write(descriptor, piece)
            return descriptor.send(piece, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            self.close()
            # Not at once: this may run inside a send(), which must not call back.
            self._loop.call_soon(self._on_broken, error)
            return 0


def _watch(
    add: Callable[[Descriptor, Callable[[], None]], None], descriptor: Descriptor, ready: Callable[[], None]
) -> None:
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    was_blocking = os.get_blocking(number)
    add(descriptor, ready)
    if was_blocking:
        os.set_blocking(number, True)  # uvloop makes it non-blocking for all processes, without need


def _close(descriptor: Descriptor) -> None:
    if isinstance(descriptor, int):
        os.close(descriptor)
    else:
        descriptor.close()


def _nothing() -> None: ...
