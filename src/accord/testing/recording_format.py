"""The file of a recorded conversation: JSON lines, a header and then one for each frame.

    {"format": 1, "protocol": "acp"}
    {"at": 0.0, "from": "client", "frame": {"jsonrpc": "2.0", "id": 1, "method": "initialize", ...}}
    {"at": 0.2, "from": "agent", "raw": "npm warn deprecated"}
    {"at": 0.9, "from": "agent", "closed": "the program ended", "exitCode": 1, "stderr": "Killed"}

`at` is in seconds from the first line. `frame` is the JSON exactly as it was sent; what no reader takes for JSON is `raw` text,
and what is no text either is `base64`. Whoever reads it skips members that it doesn't know; the number changes when that isn't enough.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.testing.frames import Side

__all__ = ["FORMAT", "Entry", "entry_of", "header_line", "line_of", "read_header"]

FORMAT = 1


class Entry(msgspec.Struct, frozen=True):
    """One frame, or the end of the conversation if `closed` says why it ended."""

    at: float
    sender: Side
    frame: bytes = b""
    closed: str | None = None
    exit_code: int | None = None
    stderr: str = ""


class _Header(msgspec.Struct):
    format: int
    protocol: str = "acp"
    dropped: int | UnsetType = UNSET
    """Frames that came before the first one here and were not kept."""


class _Line(msgspec.Struct, rename={"sender": "from", "exit_code": "exitCode"}):
    at: float
    sender: Literal["client", "agent"]
    frame: Raw | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    closed: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    stderr: str | UnsetType = UNSET


_read_raw = msgspec.json.Decoder(Raw).decode
_read_line = msgspec.json.Decoder(_Line).decode
_read_header = msgspec.json.Decoder(_Header).decode


def header_line(dropped: int = 0) -> bytes:
    """The first line."""
    return msgspec.json.encode(_Header(FORMAT, dropped=dropped or UNSET))


def read_header(line: bytes) -> int:
    """How many frames were dropped before the first; ValueError for what is no header that we can read."""
    try:
        header = _read_header(line)
    except msgspec.MsgspecError as error:
        raise ValueError(f"no recording: its first line must be such as {header_line().decode()}") from error
    if header.format > FORMAT:
        raise ValueError(f"the recording has format {header.format}, we read up to {FORMAT}: use a newer accord")
    return 0 if header.dropped is UNSET else header.dropped


def line_of(entry: Entry) -> bytes:
    """Without a newline at its end, and with none inside."""
    line = _Line(entry.at, entry.sender)
    if entry.closed is not None:
        line.closed = entry.closed
        line.exit_code = UNSET if entry.exit_code is None else entry.exit_code
        line.stderr = entry.stderr or UNSET
    elif (json := _json(entry.frame)) is not None:
        line.frame = json
    else:
        try:
            line.raw = entry.frame.decode()
        except UnicodeDecodeError:
            line.base64 = b64encode(entry.frame).decode()
    return msgspec.json.encode(line)


def entry_of(line: bytes, number: int = 0) -> Entry:
    """ValueError names the line by its number."""
    try:
        read = _read_line(line)
    except msgspec.MsgspecError as error:
        raise ValueError(f"line {number} is none of a recording: {error}") from error
    if read.closed is not UNSET:
        code = None if read.exit_code is UNSET else read.exit_code
        last_words = "" if read.stderr is UNSET else read.stderr
        return Entry(read.at, read.sender, closed=read.closed, exit_code=code, stderr=last_words)
    if read.frame is not UNSET:
        return Entry(read.at, read.sender, bytes(read.frame))
    if read.raw is not UNSET:
        return Entry(read.at, read.sender, read.raw.encode())
    if read.base64 is not UNSET:
        return Entry(read.at, read.sender, b64decode(read.base64))
    raise ValueError(f"line {number} has none of `frame`, `raw`, `base64` and `closed`")


def _json(frame: bytes) -> Raw | None:
    try:
        frame.decode()
        _read_raw(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if b"\n" in frame else Raw(frame)
