"""`accord trust`: let a project's settings count, or no longer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.apps.coder.settings.directories import existing, shown_path
from accord.apps.coder.settings.display import printable, without_secrets
from accord.apps.coder.settings.files import PROJECT_FILE, SettingsFile, project_file
from accord.apps.coder.settings.precedence import user_trust
from accord.apps.coder.settings.trust import Trust, TrustRecord
from accord.apps.coder.settings.validation import validate

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["describe", "main"]


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        f"Lets the {PROJECT_FILE} of a project count. Until then it is ignored, because it can name commands, servers "
        "and addresses. What is trusted is its content: when the file changes, it is ignored again."
    )
    parser.add_argument("directory", metavar="DIR", nargs="?", help="a directory of the project (default: this one)")
    parser.add_argument("--list", action="store_true", help="show what is trusted")
    parser.add_argument("--revoke", action="store_true", help="no longer trust the project's file")


def main(given: Mapping[str, Any]) -> int:
    trust = user_trust()
    if given.get("list"):
        sys.stdout.write("".join(f"{_line(record, trust)}\n" for record in trust.listed()) or "Nothing is trusted.\n")
        return 0
    directory = existing(given.get("directory", "."))
    found = project_file(directory)
    if given.get("revoke"):
        path = found or directory.resolve() / PROJECT_FILE  # which may be gone
        if not trust.revoke(path):
            raise CoderFailed(f"{shown_path(path)} was not trusted; `accord trust --list` shows what is")
        sys.stdout.write(f"{shown_path(path)} is no longer trusted.\n")
        return 0
    if found is None:
        raise CoderFailed(f"there is no {PROJECT_FILE} in {shown_path(directory)} or above it in its repository")
    file = SettingsFile.read(found)
    settings = validate(file.table(), file)
    trust.give(file)
    lines = [f"  {name} = {printable(without_secrets((name,), value))}" for name, value in settings.items()]
    sys.stdout.write("\n".join([f"{file.label} is trusted as it is now. It sets:", *lines, ""]))
    return 0


def _line(record: TrustRecord, trust: Trust) -> str:
    try:
        state = trust.state_of(SettingsFile.read(Path(record.path)))
    except InvalidSettings:
        state = "gone"
    return f"{printable(shown_path(Path(record.path)))}  {state}, since {record.when}"
