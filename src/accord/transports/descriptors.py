"""What kind of thing a descriptor is decides how it is read and written; its description is left as it was.

Pipes and sockets go through the loop, everything else through threads: asyncio refuses regular files, and uvloop ends
the process on them.
"""

from __future__ import annotations

import os
import socket
import stat
import sys

from accord.transports.streams import Descriptor, LoopReader, LoopWriter, OnBytes, OnEnd, Reader, Writer
from accord.transports.threads import ThreadReader, ThreadWriter

__all__ = ["private_reader", "private_writer", "shared_reader", "shared_writer"]


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
