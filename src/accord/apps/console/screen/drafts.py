"""What was written and not sent, kept for each session. A draft that can't be kept never costs a session.

Law: the file is read anew before each change and replaced in one step under a lock, so two screens never lose each
other's drafts.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from accord.local.files import file_lock, make_private_directory, read_file, write_private_file

__all__ = ["Drafts"]

_MOST = 100
_LONGEST = 64 * 1024
_PATIENCE = 0.5


class Drafts:
    """One small file in the state directory; without one, drafts live as long as the program."""

    def __init__(self, state: Path | None) -> None:
        self._path = None if state is None else state / "drafts.json"
        self._kept: dict[str, str] = {}
        """As they were last read or written."""

    def of(self, session_id: str) -> str:
        self._read()
        return self._kept.get(session_id, "")

    def keep(self, session_id: str, text: str) -> None:
        """An empty one is forgotten; the oldest of a hundred goes."""
        text = text[:_LONGEST].encode("utf-8", "replace").decode() if text.strip() else ""
        if self.of(session_id) == text:
            return
        if self._path is None:
            self._put(session_id, text)
            return
        with suppress(OSError):
            make_private_directory(self._path.parent)
            with file_lock(self._path.with_suffix(".lock"), _PATIENCE):
                self._read()
                self._put(session_id, text)
                write_private_file(self._path, msgspec.json.encode(self._kept), is_durable=False)

    def _put(self, session_id: str, text: str) -> None:
        self._kept.pop(session_id, None)
        if text:
            self._kept[session_id] = text
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def _read(self) -> None:
        if self._path is not None:
            with suppress(OSError, msgspec.DecodeError):
                self._kept = msgspec.json.decode(read_file(self._path), type=dict[str, str])
