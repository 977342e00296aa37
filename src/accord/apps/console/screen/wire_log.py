"""The wire log: the last messages to and from the agent and its stderr, with times."""

from __future__ import annotations

import time
from collections import deque
from typing import Literal

import msgspec

from accord.errors.escape_sequences import clean_output

__all__ = ["LogEntry", "WireLog"]

_MOST_ENTRIES = 5000
_MOST_BYTES = 16 * 1024 * 1024
_LONGEST = 64 * 1024


class LogEntry(msgspec.Struct, frozen=True):
    """A message, or a chunk of stderr. Long `data` is cut; `size` is its full size."""

    when: float
    kind: Literal["sent", "received", "stderr"]
    data: bytes
    size: int

    @property
    def method(self) -> str:
        """The method, the kind of update, or the id of the response."""
        if self.kind == "stderr":
            return ""
        try:
            frame = msgspec.json.decode(self.data, type=_Frame)
        except msgspec.DecodeError:
            return "…" if len(self.data) < self.size else "not JSON"
        if frame.method == "session/update" and frame.params is not None:
            return f"update {frame.params.update.tag}"
        if frame.method is not None:
            return frame.method
        return f"response to {frame.id}" if frame.error is None else f"error for {frame.id}"


class _Update(msgspec.Struct, frozen=True, rename={"tag": "sessionUpdate"}):
    tag: str = "?"


class _Params(msgspec.Struct):
    update: _Update = _Update()


class _Frame(msgspec.Struct):
    id: object = None
    method: str | None = None
    params: _Params | None = None
    error: object = None


class WireLog:
    """A bounded log; the oldest entries are dropped."""

    def __init__(self) -> None:
        self.entries: deque[LogEntry] = deque()
        self._bytes = 0

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        self._add(direction, frame)

    def stderr(self, data: bytes) -> None:
        self._add("stderr", data)

    @property
    def last_stderr(self) -> str:
        """The last line of the agent's stderr."""
        for entry in reversed(self.entries):
            if entry.kind == "stderr" and (text := clean_output(entry.data.decode("utf-8", "replace")).strip()):
                return text.rpartition("\n")[2]
        return ""

    def _add(self, kind: Literal["sent", "received", "stderr"], data: bytes) -> None:
        entry = LogEntry(time.time(), kind, bytes(data[:_LONGEST]), len(data))
        self.entries.append(entry)
        self._bytes += len(entry.data)
        while self._bytes > _MOST_BYTES or len(self.entries) > _MOST_ENTRIES:
            self._bytes -= len(self.entries.popleft().data)
