"""What was written and not sent, kept for each session. A draft that can't be kept never costs a session."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from accord.local.own_files import write_whole

__all__ = ["Drafts"]

_MOST = 100
_LONGEST = 64 * 1024


class Drafts:
    """One small file in the state directory; without one, drafts live as long as the program."""

    def __init__(self, state: Path | None) -> None:
        self._path = None if state is None else state / "drafts.json"
        self._kept: dict[str, str] = {}
        if self._path is not None:
            with suppress(OSError, msgspec.DecodeError):
                self._kept = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])

    def of(self, session_id: str) -> str:
        return self._kept.get(session_id, "")

    def keep(self, session_id: str, text: str) -> None:
        """An empty one is forgotten; the oldest of a hundred goes."""
        if self._kept.get(session_id, "") == text:
            return
        self._kept.pop(session_id, None)
        if text.strip():
            self._kept[session_id] = text[:_LONGEST]
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(self._path, msgspec.json.encode(self._kept), is_durable=False)
