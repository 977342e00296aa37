"""Reads and writes a descriptor that the event loop cannot watch, in a thread: a regular file, a terminal, `/dev/null`.

One daemon thread per direction makes the blocking calls. A thread that hangs in a call is abandoned. On Windows all
descriptors are read and written here (not tested there).
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from accord.transports.streams import OnBytes, OnEnd

_CHUNK = 64 * 1024


class ThreadReader:
    """Reads at most one chunk ahead of the loop; after `close` it reads nothing more."""

    def __init__(self, descriptor: int, on_bytes: OnBytes, on_end: OnEnd) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_bytes = on_bytes
        self._on_end = on_end
        self._may_read = threading.Event()
        self._may_read.set()
        self._is_paused = False
        self._is_closed = False
        self._wake_reader, self._wake_writer = os.pipe()
        threading.Thread(target=self._read_all, name="accord reader", daemon=True).start()

    def pause(self) -> None:
        self._is_paused = True
        self._may_read.clear()

    def resume(self) -> None:
        self._is_paused = False
        self._may_read.set()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._may_read.set()
            os.close(self._wake_writer)

    def _read_all(self) -> None:
        error: OSError | None = None
        try:
            while self._may_read.wait() and self._wait_for_input():
                try:
                    data = os.read(self._descriptor, _CHUNK)
                except (BlockingIOError, InterruptedError):
                    continue
                if not data:
                    break
                self._may_read.clear()
                _call_in_loop(self._loop, self._received, data)
        except OSError as caught:
            error = caught
        os.close(self._descriptor)
        os.close(self._wake_reader)
        _call_in_loop(self._loop, self._ended, error)

    def _wait_for_input(self) -> bool:
        if sys.platform != "win32":
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            poll.register(self._wake_reader, select.POLLIN)
            poll.poll()
        return not self._is_closed

    def _received(self, data: bytes) -> None:
        if not self._is_closed:
            self._on_bytes(data)
            if not self._is_paused:
                self._may_read.set()

    def _ended(self, error: OSError | None) -> None:
        if not self._is_closed:
            self.close()
            self._on_end(error)


class ThreadWriter:
    """Queues bytes for its thread."""

    def __init__(self, descriptor: int, on_broken: OnEnd) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._pieces: SimpleQueue[bytes | None] = SimpleQueue()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._is_closing = False
        self._is_aborted = False
        self.on_progress: Callable[[], None] = _nothing
        self.unsent = 0
        threading.Thread(target=self._write_all, name="accord writer", daemon=True).start()

    def write(self, piece: bytes) -> None:
        if not self._is_closing:
            self.unsent += len(piece)
            self._pieces.put(piece)

    def finish(self) -> asyncio.Future[None]:
        if not self._is_closing:
            self._is_closing = True
            self._pieces.put(None)
        return self._finished

    def close(self) -> None:
        self._is_aborted = True
        self.finish()
        self.unsent = 0

    def _write_all(self) -> None:
        error: OSError | None = None
        try:
            while (piece := self._pieces.get()) is not None:
                rest = memoryview(piece)
                while rest and not self._is_aborted:
                    written = self._write(rest)
                    rest = rest[written:]
                    _call_in_loop(self._loop, self._written, written)
        except OSError as caught:
            error = caught
        os.close(self._descriptor)
        _call_in_loop(self._loop, self._ended, error)

    def _write(self, piece: memoryview) -> int:
        try:
            return os.write(self._descriptor, piece)
        except BlockingIOError:  # another process made the description non-blocking
            if sys.platform != "win32":
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
            return 0

    def _written(self, size: int) -> None:
        if not self._is_aborted:
            self.unsent -= size
            self.on_progress()

    def _ended(self, error: OSError | None) -> None:
        self._is_closing = True
        self.unsent = 0
        if not self._finished.done():
            self._finished.set_result(None)
        if error is not None and not self._is_aborted:
            self._on_broken(error)


def _call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(callback, *arguments)


def _nothing() -> None: ...
