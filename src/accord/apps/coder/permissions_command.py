"""`accord permissions`: lists and revokes the user's always-answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accord.apps.coder.errors import CoderFailed
from accord.apps.coder.settings.files import display_path, existing_directory, state_directory
from accord.local.saved_choices import SavedChoice, SavedChoices, project_root
from accord.local.text import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = "Lists what you allowed or rejected for always, by project, and revokes it."
    parser.add_argument("directory", metavar="DIR", nargs="?", help="only the project of this directory")
    parser.add_argument(
        "--revoke", metavar="SCOPE", help="revoke this answer in the project of DIR (default: the current one)"
    )
    parser.add_argument("--revoke-all", action="store_true", help="revoke all answers of the project")
    parser.add_argument("--json", action="store_true", help="write JSON")


def main(arguments: Mapping[str, Any]) -> int:
    try:
        return _main(arguments)
    except ValueError as unreadable:
        raise CoderFailed(str(unreadable)) from None


def _main(arguments: Mapping[str, Any]) -> int:
    choices = SavedChoices(state_directory() / "choices.json")
    project = project_root(existing_directory(arguments.get("directory", ".")))
    if "revoke" in arguments or arguments.get("revoke_all"):
        return _revoke(choices, project, arguments.get("revoke"))
    saved = sorted(
        choices.read(project if "directory" in arguments else None), key=lambda each: (each.project, each.scope)
    )
    if arguments.get("json"):
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(saved)).decode() + "\n")
    else:
        sys.stdout.write(_as_text(saved))
    return 0


def _revoke(choices: SavedChoices, project: str, scope: str | None) -> int:
    count = choices.revoke(project, scope)
    if not count:
        what = "no answer" if scope is None else f"no answer about {scope!r}"
        raise CoderFailed(f"{what} is saved for {display_path(Path(project))}; `accord permissions` lists them")
    sys.stdout.write(f"{count} revoked; you will be asked again.\n")
    return 0


def _as_text(saved: list[SavedChoice]) -> str:
    if not saved:
        return "No answers are saved: you are asked every time.\n"
    lines: list[str] = []
    for project in dict.fromkeys(each.project for each in saved):
        lines.append(printable(display_path(Path(project))))
        for each in saved:
            if each.project == project:
                verdict = "allowed " if each.allowed else "rejected"
                lines.append(f"  {verdict}  {printable(each.scope)}  since {each.when}")
    return "\n".join([*lines, "Revoke one with `accord permissions --revoke SCOPE DIR`.", ""])
