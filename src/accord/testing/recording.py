"""What two sides said to each other, in order; to look at, to keep in a file, and to play again."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, Self

from accord.client.commands import AnyTarget
from accord.errors import ConnectionClosed
from accord.peer import FrameObserver
from accord.testing.frames import Side, other, peek, shown
from accord.testing.recording_format import Entry, entry_of, header_line, line_of, read_header
from accord.testing.taps import Tap, TappedTarget

__all__ = ["Recording"]

KEPT_BYTES = 64 * 1024 * 1024


class Recording:
    """One conversation. Past `limit` bytes the oldest frames are dropped, and `dropped` counts them."""

    def __init__(self, entries: Iterable[Entry] = (), *, limit: int = KEPT_BYTES) -> None:
        self.entries: deque[Entry] = deque(entries)
        self.dropped = 0
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
        self._recording.end("client", ConnectionClosed("closed by this side"))


def _shown(entry: Entry) -> str:
    if entry.closed is not None:
        code = "" if entry.exit_code is None else f" (exit code {entry.exit_code})"
        last_words = f"\n{entry.stderr}".rstrip()
        return f"{entry.at:8.3f}  {entry.sender} hung up: {entry.closed}{code}{last_words}"
    way = f"{entry.sender} → {other(entry.sender)}"
    return f"{entry.at:8.3f}  {way}  {shown(peek(entry.frame))}"
