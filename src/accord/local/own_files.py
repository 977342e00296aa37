"""Small files of the user's own: replaced in one step, and changed by one program at a time. These calls block."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["locked", "write_whole"]


def write_whole(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Whoever reads finds the old content or the new one; nobody but the user may read it."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def locked(path: Path, patience: float | None = None) -> Generator[None]:
    """Hold the lock of this name, which the end of the program frees as well; TimeoutError when others hold it for longer than that."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        end = None if patience is None else time.monotonic() + patience
        while not _could_take(descriptor):
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"{path} is locked")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


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
