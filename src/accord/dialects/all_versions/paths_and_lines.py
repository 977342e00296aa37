"""Paths and line numbers as the protocol wants them: absolute, and counted from 1 (RPC-18, RPC-19)."""

from __future__ import annotations

from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams, Malformed
from accord.session.validation import is_absolute

__all__ = ["absolute", "line_number", "noted"]


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
