"""Drafts: the unsent text of each session, in a file. A draft that cannot be saved is not an error.

Law: the file is read before each change and replaced atomically under a lock, so that two screens never lose each
other's drafts.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from accord.local.files import file_lock, make_private_directory, read_file, write_private_file

_MOST = 100
_LONGEST = 1024 * 1024
_LOCK_TIMEOUT = 0.5


class Drafts:
    """A small file in the state directory; without one, drafts last as long as the program."""

    def __init__(self, state: Path | None) -> None:
        self._path = None if state is None else state / "drafts.json"
        self._drafts: dict[str, str] = {}
        """As last read or written."""

    def of(self, session_id: str) -> str:
        self._read()
        return self._drafts.get(session_id, "")

    def save(self, session_id: str, text: str) -> None:
        """Save a draft; an empty one is removed. The oldest of more than a hundred is dropped."""
        text = text[:_LONGEST].encode("utf-8", "replace").decode() if text.strip() else ""
        if self.of(session_id) == text:
            return
        if self._path is None:
            self._put(session_id, text)
            return
        with suppress(OSError):
            make_private_directory(self._path.parent)
            with file_lock(self._path.with_suffix(".lock"), _LOCK_TIMEOUT):
                self._read()
                self._put(session_id, text)
                write_private_file(self._path, msgspec.json.encode(self._drafts), is_durable=False)

    def _put(self, session_id: str, text: str) -> None:
        self._drafts.pop(session_id, None)
        if text:
            self._drafts[session_id] = text
        while len(self._drafts) > _MOST:
            del self._drafts[next(iter(self._drafts))]

    def _read(self) -> None:
        if self._path is not None:
            with suppress(OSError, msgspec.DecodeError):
                self._drafts = msgspec.json.decode(read_file(self._path), type=dict[str, str])
