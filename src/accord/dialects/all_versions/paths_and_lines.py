"""Checks paths and line numbers: the protocol wants absolute paths, and lines counted from 1 (RPC-18, RPC-19)."""

from __future__ import annotations

from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams, Malformed
from accord.session.paths import is_absolute


def require_absolute(path: str, field: str) -> str:
    """The path; InvalidParams if it is not absolute."""
    if not is_absolute(path):
        raise InvalidParams("must be an absolute path", field=field)
    return path


def display_path(dialect: Dialect, path: str, field: str) -> str:
    """A path that is only displayed: one that is not absolute is kept, with a note (AMB-46)."""
    if not is_absolute(path):
        if dialect.strict:
            raise Malformed(f"$.{field}", "must be an absolute path")
        dialect.notes.append(f"$.{field}: a path that is not absolute")
    return path


def require_line(line: int | None, field: str) -> int | None:
    """The line; InvalidParams if it is less than 1."""
    if line is not None and line < 1:
        raise InvalidParams("lines count from 1", field=field)
    return line
