"""Paths as people and peers write them. Law: whatever is written, nothing raises here."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Literal

__all__ = ["fault_of", "fault_of_directory", "kind_of", "path_of"]


def path_of(written: str) -> Path:
    """With `~` and `~user` as the home that they mean; those of nobody stay as they are, as in a shell."""
    try:
        return Path(os.path.expanduser(written))  # noqa: PTH111  # that of Path raises for a user who is not there
    except ValueError:  # there is a NUL in the name of the user
        return Path(written)


def fault_of(path: str | os.PathLike[str]) -> str | None:
    """Why no file of this system can have such a path; None if one can. It looks at the disk."""
    try:
        if b"\0" in os.fsencode(path):
            return "it has a NUL character"
        os.lstat(path)
    except UnicodeEncodeError:
        return "it has half of a character"
    except OSError as error:
        return "it is too long" if error.errno == errno.ENAMETOOLONG else None
    return None


def kind_of(path: Path) -> Literal["file", "directory", "other"] | None:
    """What is there, with links followed; None when nothing is, or nothing that could be looked at."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # what is too long, has a NUL in it or may not be entered is no path to anything
        return None
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def fault_of_directory(path: str | os.PathLike[str]) -> str | None:
    """Why this is no directory of this system; None if it is one. It looks at the disk."""
    fault = fault_of(path)
    if fault is not None:
        return f"must be an absolute path on this system: {fault}"
    kind = kind_of(Path(path))
    if kind == "directory":
        return None
    return f"{'no such' if kind is None else 'not a'} directory: {os.fspath(path)}"
