"""Locks that tell which owners are alive: each holds that of a file of its own, as long as its process lives.

The system releases a lock with its process, however that ends; a process that is stopped keeps it. Unlike a process id
it can't be taken for that of another process, and it is seen from every container that has the same directory. A file
is made once and its name is never used again, so whoever finds it unlocked knows that its owner is gone.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from accord.local.files import make_private_directory

_LOOK: int = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _is_free(descriptor: int) -> bool:
        return _try_lock(descriptor)

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # nobody holds it longer than it takes to look

    def _is_free(descriptor: int) -> bool:
        return _try_lock(descriptor, fcntl.LOCK_SH)  # others may look at the same time

    def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class _Held:
    """A lock that this process holds, for one or more stores."""

    __slots__ = ("descriptor", "holders")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.holders = 0


_held: dict[Path, _Held] = {}  # of all stores of this process: two of them may have the same owner
_changing = threading.Lock()


class OwnerLocks:
    """The lock files beside one store, in a folder that only their user can read.

    Stores of one process that have the same owner share its lock; the last one that releases it frees it.
    """

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(f"{store.name}-owners")
        self._here: set[str] = set()

    def hold(self, owner_id: str) -> bool:
        """Hold the lock of an owner from now on; False where the file system has no locks."""
        if owner_id in self._here:
            return True
        path = self._folder / owner_id
        with _changing:
            held = _held.get(path)
            if held is None:
                try:
                    descriptor = self._locked(path)
                except FileExistsError:  # a process that this one is a fork of has it
                    return True
                if descriptor is None:
                    return False
                held = _held[path] = _Held(descriptor)
            held.holders += 1
        self._here.add(owner_id)
        return True

    def _locked(self, path: Path) -> int | None:
        """A new file, open and locked; None where there are no locks."""
        while True:
            make_private_directory(self._folder)
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            except FileNotFoundError:  # the last of the others has just removed the folder
                continue
            try:
                _lock(descriptor)
                if _is_there(path, descriptor):  # and was not swept away before it was locked
                    return descriptor
            except OSError as error:
                os.close(descriptor)
                path.unlink(missing_ok=True)
                if error.errno in _UNSUPPORTED:
                    return None
                raise
            os.close(descriptor)

    def is_held(self, owner_id: str) -> bool:
        """Whether the owner's process lives, here or in another process."""
        if owner_id in self._here:
            return True
        try:
            descriptor = os.open(self._folder / owner_id, _LOOK)
        except FileNotFoundError:
            return False
        try:
            return not _is_free(descriptor)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return False
            raise
        finally:
            os.close(descriptor)

    def others(self) -> Iterator[str]:
        """The owners that have a file here, alive or not, but for our own."""
        with suppress(FileNotFoundError):
            yield from (name for name in os.listdir(self._folder) if name not in self._here)  # noqa: PTH208

    def remove(self, owner_id: str) -> None:
        """Remove the file of an owner that is gone; one that lives keeps it."""
        path = self._folder / owner_id
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _try_lock(descriptor):
                    path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)

    def release(self) -> None:
        """Release all that is held here, and leave nothing behind; what another store holds as well stays locked."""
        with _changing:
            for owner_id in self._here:
                path = self._folder / owner_id
                held = _held[path]
                held.holders -= 1
                if held.holders:
                    continue
                del _held[path]
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                os.close(held.descriptor)
        self._here.clear()
        with suppress(OSError):  # others have theirs in it, or it was never made
            self._folder.rmdir()


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
