"""Paths and line numbers as the protocol wants them: absolute, and counted from 1 (RPC-18, RPC-19)."""

from __future__ import annotations

import re

from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams, Malformed

__all__ = ["absolute", "is_absolute", "line_number", "noted"]

# POSIX, a drive letter, or UNC: the other side's system need not be ours (AMB-46).
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


def is_absolute(path: str) -> bool:
    """Whether a path is absolute on some system."""
    return _ABSOLUTE.match(path) is not None


def absolute(path: str, field: str) -> str:
    """The path, if it is absolute; InvalidParams otherwise."""
    if not is_absolute(path):
        raise InvalidParams("must be an absolute path", field=field)
    return path


def noted(dialect: Dialect, path: str, field: str) -> str:
    """The path of something that is only shown: one that is not absolute is kept, with a note (AMB-46)."""
    if not is_absolute(path):
        if dialect.strict:
            raise Malformed(f"$.{field}", "must be an absolute path")
        dialect.notes.append(f"$.{field}: a path that is not absolute")
    return path


def line_number(line: int | None, field: str) -> int | None:
    """The line, if it counts from 1; InvalidParams otherwise."""
    if line is not None and line < 1:
        raise InvalidParams("lines count from 1", field=field)
    return line
