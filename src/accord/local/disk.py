"""One file on the disk: a part of it read, or all of it replaced in one step. These calls block."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from functools import partial

from accord.local.lines import part
from accord.local.refusals import missing, refusing, unusable
from accord.local.roots import Directory, Place

__all__ = ["read_part", "replace"]


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
