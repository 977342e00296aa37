"""Recordings of conversations, in memory and as files of JSON lines.

    {"format": 1, "protocol": "acp"}
    {"at": 0.0, "from": "client", "frame": {"jsonrpc": "2.0", "id": 1, "method": "initialize", ...}}
    {"at": 0.2, "from": "agent", "raw": "npm warn deprecated"}
    {"at": 0.9, "from": "agent", "closed": "the program ended", "exitCode": 1, "stderr": "Killed"}

`at` is in seconds from the first line. `frame` is the JSON exactly as it was sent; what no reader takes for JSON is `raw` text,
and what is no text either is `base64`. Whoever reads it skips members that it doesn't know; the number changes when that isn't enough.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.client.target import AnyTarget
from accord.errors import ConnectionClosed
from accord.peer import FrameObserver
from accord.testing.frame_taps import Peek, Side, Tap, TappedTarget, other, shown

KEPT_BYTES = 64 * 1024 * 1024


class Recording:
    """One conversation. Past `limit` bytes the oldest frames are dropped, and `dropped` counts them."""

    def __init__(self, entries: Iterable[Entry] = (), *, limit: int = KEPT_BYTES) -> None:
        self.entries: deque[Entry] = deque(entries)
        self.dropped = 0
        """How many of the oldest frames are missing."""
        self._limit = limit
        self._size = sum(len(entry.frame) for entry in self.entries)
        self._began: float | None = None

    def of(self, target: AnyTarget) -> TappedTarget:
        """The same target, with everything that passes written down here."""
        return TappedTarget(target, _Writing(self))

    def observer(self, side: Side) -> FrameObserver:
        """The `on_frame` of an `Agent` or a `Client`, which sees the line from its side."""

        def observe(direction: Literal["sent", "received"], frame: bytes) -> None:
            self.add(side if direction == "sent" else other(side), frame)

        return observe

    def add(self, sender: Side, frame: bytes) -> None:
        """Write a frame down, with the event loop's time."""
        self._append(Entry(self._now(), sender, frame))

    def end(self, sender: Side, reason: ConnectionClosed) -> None:
        """Write down that one side has ended the conversation."""
        code, last_words = reason.exit_code, reason.stderr_tail
        self._append(Entry(self._now(), sender, closed=reason.reason, exit_code=code, stderr=last_words))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file of JSON lines; its directory is made if need be."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(line + b"\n" for line in self.lines()))

    def lines(self) -> Iterator[bytes]:
        """The lines of the file: a header, then one for each frame."""
        yield header_line(self.dropped)
        for entry in self.entries:
            yield line_of(entry)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file; ValueError tells the line that is none."""
        lines = Path(path).read_bytes().splitlines()
        if not lines:
            raise ValueError(f"{os.fspath(path)} is empty: a recording begins with a line such as {header_line()!r}")
        dropped = read_header(lines[0])
        recording = cls(entry_of(line, number) for number, line in enumerate(lines[1:], start=2) if line.strip())
        recording.dropped = dropped
        return recording

    def shown(self, last: int = 40) -> str:
        """The conversation for people, one line for each frame; only the end of a long one."""
        entries = list(self.entries)
        before = max(len(entries) - last, 0) + self.dropped
        lines = [f"{'':9}({before} frames before)"] if before > 0 else []
        return "\n".join([*lines, *map(_shown, entries[-last:])]) or "(nothing was said)"

    def __str__(self) -> str:
        return self.shown()

    def _now(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began = now
        return round(now - self._began, 6)

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._size += len(entry.frame)
        while self._size > self._limit and len(self.entries) > 1:
            self._size -= len(self.entries.popleft().frame)
            self.dropped += 1


class _Writing(Tap):
    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def from_agent(self, frame: bytes) -> None:
        self._recording.add("agent", frame)
        super().from_agent(frame)

    def from_client(self, frame: bytes) -> None:
        self._recording.add("client", frame)
        super().from_client(frame)

    def ended(self, reason: ConnectionClosed) -> None:
        self._recording.end("agent", reason)
        super().ended(reason)

    def left(self) -> None:
        self._recording.end("client", ConnectionClosed("closed by this side", kind="closed_here"))


def _shown(entry: Entry) -> str:
    if entry.closed is not None:
        code = "" if entry.exit_code is None else f" (exit code {entry.exit_code})"
        last_words = f"\n{entry.stderr}".rstrip()
        return f"{entry.at:8.3f}  {entry.sender} hung up: {entry.closed}{code}{last_words}"
    way = f"{entry.sender} → {other(entry.sender)}"
    return f"{entry.at:8.3f}  {way}  {shown(Peek(entry.frame))}"


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
