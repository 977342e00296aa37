"""The project settings that the user trusts, by the path and the exact content of their files.

Law: one small file per trusted path, replaced in one step; so programs that run at the same time lose nothing, and a
record that can't be read means no trust.
"""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from accord.apps.coder.settings.files import SettingsFile
from accord.local.files import make_private_directory, read_file, write_private_file

__all__ = ["Trust", "TrustRecord", "TrustState"]

TrustState: TypeAlias = Literal["trusted", "changed", "untrusted"]


class TrustRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A trusted file and the hash of its content."""

    path: str
    sha256: str
    when: str


class Trust:
    """The records in a directory, which need not exist."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def state_of(self, file: SettingsFile) -> TrustState:
        """Whether the file may be used as it was read: `changed` if only an earlier content was trusted."""
        record = self._read(self._record_of(file.path))
        if record is None or record.path != _as_text(file.path):
            return "untrusted"
        return "trusted" if record.sha256 == _digest(file.content) else "changed"

    def add(self, file: SettingsFile) -> None:
        """Trust the file, as it was read."""
        make_private_directory(self._directory)
        record = self._record_of(file.path)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        content = msgspec.json.encode(TrustRecord(path=_as_text(file.path), sha256=_digest(file.content), when=when))
        write_private_file(record, content)

    def revoke(self, path: Path) -> bool:
        """Whether there was anything to revoke; the file itself need not exist any more."""
        try:
            self._record_of(path).unlink()
        except FileNotFoundError:
            return False
        return True

    def records(self) -> list[TrustRecord]:
        """All records, by path."""
        records = (self._read(file) for file in self._directory.glob("*.json"))
        return sorted((record for record in records if record is not None), key=lambda record: record.path)

    def _record_of(self, path: Path) -> Path:
        return self._directory / f"{_digest(os.fsencode(path))[:32]}.json"

    def _read(self, record: Path) -> TrustRecord | None:
        try:
            return msgspec.json.decode(read_file(record), type=TrustRecord)
        except (OSError, msgspec.DecodeError):
            return None


def _as_text(path: Path) -> str:
    return str(path).encode("utf-8", "backslashreplace").decode()  # file names need not be valid text


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
