"""The client's text files, with changes the user has not saved yet."""

from __future__ import annotations

from accord.schema.v1.identifiers import SessionId
from accord.schema.values import UNSET, Nullable, UInt32, Wire

__all__ = ["ReadTextFileRequest", "ReadTextFileResponse", "WriteTextFileRequest", "WriteTextFileResponse"]


class ReadTextFileRequest(Wire):
    """Params of `fs/read_text_file`: at most `limit` lines, from `line` on, which counts from 1."""

    session_id: SessionId
    path: str
    line: Nullable[UInt32] = UNSET
    limit: Nullable[UInt32] = UNSET


class ReadTextFileResponse(Wire):
    """Result of `fs/read_text_file`."""

    content: str


class WriteTextFileRequest(Wire):
    """Params of `fs/write_text_file`: the whole new text of a file, which need not exist."""

    session_id: SessionId
    path: str
    content: str


class WriteTextFileResponse(Wire):
    """Result of `fs/write_text_file`."""
