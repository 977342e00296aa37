"""`accord trust`: trusts or distrusts a project's settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.apps.coder.errors import CoderFailed, InvalidSettings
from accord.apps.coder.settings.directories import display_path, existing_directory
from accord.apps.coder.settings.display import display_value, without_secrets
from accord.apps.coder.settings.files import PROJECT_FILE, SettingsFile, project_file
from accord.apps.coder.settings.precedence import user_trust
from accord.apps.coder.settings.trust import Trust, TrustRecord
from accord.apps.coder.settings.validation import validate
from accord.local.text import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["add_arguments", "main"]


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
    settings = validate(file.table(), file)
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
