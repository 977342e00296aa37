"""Small files of the user's own: opened only when they are files, replaced in one step, changed by one program at a time.

Law: what stands in the place of a file and is none (a FIFO, a device, a socket, a directory) is refused at once, and not
waited for, read or replaced. These calls block no longer than the disk does.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from accord.local.written_paths import fault_of

__all__ = ["check_name", "check_regular", "locked", "make_directory", "open_regular", "read_regular", "write_whole"]

_PATIENCE = 2.0
_LARGEST = 64 * 1024 * 1024
_PIECE = 1024 * 1024
# Opened so, a FIFO waits for nobody, and a terminal does not become ours.
_AT_ONCE: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_KINDS = [
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
]


def check_name(path: Path) -> None:
    """OSError for a path that no file can have: the system's own calls raise other errors for some of those."""
    fault = fault_of(path)
    if fault is not None:
        raise OSError(errno.EINVAL, f"no file can have this path: {fault}", ascii(str(path)))


def check_regular(path: Path) -> bool:
    """Whether the file is there; OSError when something is, and it is not a regular file. Links are followed."""
    check_name(path)
    try:
        _check(path.stat(), path)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def open_regular(path: Path) -> Generator[BinaryIO]:
    """A regular file, for reading; OSError says what else it is."""
    check_name(path)
    _check(path.stat(), path)  # to open a device may do something to it already
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor has no path
        _check(os.fstat(descriptor), path)  # it may have become something else since
        yield file


def read_regular(path: Path, largest: int = _LARGEST) -> bytes:
    """All of a regular file; OSError for anything else, and for one that is larger than that many bytes."""
    with open_regular(path) as file:
        pieces, room = [b""], largest + 1
        while room > 0 and (piece := file.read(min(room, _PIECE))):  # to ask for all takes the room for all
            pieces.append(piece)
            room -= len(piece)
        content = b"".join(pieces)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {_size(largest)}", str(path))
    return content


def write_whole(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Whoever reads finds the old content or the new one; nobody but the user may read it."""
    check_regular(path)
    beside = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AT_ONCE, 0o600), "wb") as file:  # noqa: PTH123
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, for the user alone: `mkdir` lets all others into those."""
    check_name(path)
    if not path.parent.exists():
        make_directory(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def locked(path: Path, patience: float = _PATIENCE) -> Generator[None]:
    """Hold the lock of this name, which the end of the program frees as well; TimeoutError when others hold it for longer than that."""
    check_regular(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _AT_ONCE, 0o600)
    try:
        _check(os.fstat(descriptor), path)
        end = time.monotonic() + patience
        while not _could_take(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another program holds its lock", str(path))
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _check(status: os.stat_result, path: Path) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
    raise OSError(errno.EINVAL, f"it is not a regular file, but {kind}", str(path))


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"


def _could_take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":  # not tested there
            import msvcrt  # noqa: PLC0415  # exists only there

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415  # exists only elsewhere

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # somebody else has it; Windows says the second
        return False
    return True
