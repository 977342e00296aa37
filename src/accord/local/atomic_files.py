"""Reads parts of files, and replaces whole files in one step.

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
from functools import partial
from pathlib import Path
from typing import BinaryIO

from accord.local.file_errors import missing, refusing, unusable
from accord.local.paths import Directory, Place, fault_of
from accord.local.text import part

__all__ = [
    "check_name",
    "check_regular",
    "locked",
    "make_directory",
    "open_regular",
    "read_part",
    "read_regular",
    "replace",
    "write_whole",
]


def read_part(place: Place, line: int | None, limit: int | None, most: int) -> str:
    """Some lines of a regular file; `NotFound` when there is none."""
    with refusing("read", place.path), place.parent() as directory:
        if _regular(directory, place, "read") is None:
            raise missing(place.path)
        descriptor = directory.open(place.names[-1], os.O_RDONLY)
        try:
            _check(os.fstat(descriptor), place, "read")  # it may have become something else since
            return part(partial(os.read, descriptor), place.path, line, limit, most)
        finally:
            os.close(descriptor)


def replace(place: Place, content: bytes) -> None:
    """Write it beside the file and let it take the file's place, with the file's owner and permissions.

    A link that led here still does; another hard link keeps the old content.
    """
    with refusing("write", place.path), place.parent(creating=True) as directory:
        before = _regular(directory, place, "write")
        name = place.names[-1]
        if before is not None and not directory.is_writable(name):
            raise PermissionError
        beside = f".accord-{os.urandom(8).hex()}"
        created = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        # Nobody may read the new text who could not read the old one, not even for a moment.
        descriptor = directory.open(beside, created, 0o666 if before is None else 0o600)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor has no path
                file.write(content)
                file.flush()
                if before is not None:
                    _keep_permissions(directory, name, before, descriptor)
                os.fsync(descriptor)  # else a crash of the system could leave an empty file in its place
            directory.replace(name, by=beside)
        except BaseException:
            with suppress(OSError):
                directory.remove(beside)
            raise


def _regular(directory: Directory, place: Place, action: str) -> os.stat_result | None:
    if not place.names:
        raise unusable(action, place.path, "it is a directory")
    status = directory.status(place.names[-1])
    if status is not None:
        _check(status, place, action)
    return status


def _check(status: os.stat_result, place: Place, action: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise unusable(action, place.path, "it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise unusable(action, place.path, "it is not a regular file")


def _keep_permissions(directory: Directory, name: str, before: os.stat_result, descriptor: int) -> None:
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(before.st_mode)
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # they were given for another owner
    os.fchmod(descriptor, mode)
    if sys.platform == "linux":
        with suppress(OSError), open(directory.open(name, os.O_RDONLY), "rb") as old:  # noqa: PTH123  # as above
            for attribute in os.listxattr(old.fileno()):  # access lists are among them
                os.setxattr(descriptor, attribute, os.getxattr(old.fileno(), attribute))


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
        _check_regular(path.stat(), path)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def open_regular(path: Path) -> Generator[BinaryIO]:
    """A regular file, for reading; OSError says what else it is."""
    check_name(path)
    _check_regular(path.stat(), path)  # to open a device may do something to it already
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor has no path
        _check_regular(os.fstat(descriptor), path)  # it may have become something else since
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
        _check_regular(os.fstat(descriptor), path)
        end = time.monotonic() + patience
        while not _could_take(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another program holds its lock", str(path))
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _check_regular(status: os.stat_result, path: Path) -> None:
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
