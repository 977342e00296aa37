"""The project settings that the user trusts, by the path and the exact content of their files; `accord trust`.

Law: one small file per trusted path, replaced in one step; so programs that run at the same time lose nothing, and a
record that can't be read means no trust.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.apps.coder.settings.files import (
    PROJECT_FILE,
    SettingsFile,
    display_path,
    existing_directory,
    project_file,
    state_directory,
)
from accord.apps.coder.settings.validation import display_value, validate, without_secrets
from accord.local.files import make_private_directory, read_file, write_private_file
from accord.local.text import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

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


def user_trust(environment: Mapping[str, str] = os.environ) -> Trust:
    """The files that the user trusts."""
    return Trust(state_directory(environment) / "trusted")


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        f"Trusts the {PROJECT_FILE} of a project. Until then it is ignored, because it can name commands, servers and "
        "addresses. Trust applies to the content: when the file changes, it is ignored again."
    )
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", help="a directory of the project (default: the current one)"
    )
    parser.add_argument("--list", action="store_true", help="list the trusted files")
    parser.add_argument("--revoke", action="store_true", help="stop trusting the project's file")


def main(arguments: Mapping[str, Any]) -> int:
    trust = user_trust()
    if arguments.get("list"):
        sys.stdout.write(
            "".join(f"{_line(record, trust)}\n" for record in trust.records()) or "No files are trusted.\n"
        )
        return 0
    directory = existing_directory(arguments.get("directory", "."))
    project = project_file(directory)
    if arguments.get("revoke"):
        path = project or directory.resolve() / PROJECT_FILE  # which may not exist any more
        if not trust.revoke(path):
            raise CoderFailed(f"{display_path(path)} is not trusted; `accord trust --list` lists the trusted files")
        sys.stdout.write(f"{display_path(path)} is no longer trusted.\n")
        return 0
    if project is None:
        raise CoderFailed(
            f"file not found: no {PROJECT_FILE} in {display_path(directory)} or above it in its repository"
        )
    file = SettingsFile.read(project)
    settings = validate(file.table(), file.where)
    trust.add(file)
    lines = [f"  {name} = {display_value(without_secrets((name,), value))}" for name, value in settings.items()]
    sys.stdout.write("\n".join([f"{file.label} is now trusted with this content. It sets:", *lines, ""]))
    return 0


def _line(record: TrustRecord, trust: Trust) -> str:
    try:
        state = trust.state_of(SettingsFile.read(Path(record.path)))
    except InvalidSettings:
        state = "missing"
    return f"{printable(display_path(Path(record.path)))}  {state}, since {record.when}"
