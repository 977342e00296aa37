"""`accord permissions`: the choices that the user made for always."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accord.apps.coder.errors import CoderFailed
from accord.apps.coder.settings.directories import existing, shown_path, state_directory
from accord.apps.coder.settings.display import printable
from accord.local.saved_choices import SavedChoice, SavedChoices, project_root

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["describe", "main"]


def describe(parser: ArgumentParser) -> None:
    parser.description = "Lists what you allowed or rejected for always, by project, and takes it back."
    parser.add_argument("directory", metavar="DIR", nargs="?", help="only the project of this directory")
    parser.add_argument("--revoke", metavar="SCOPE", help="take this choice back in the project of DIR (default: here)")
    parser.add_argument("--revoke-all", action="store_true", help="take all choices of the project back")
    parser.add_argument("--json", action="store_true", help="for programs")


def main(given: Mapping[str, Any]) -> int:
    try:
        return _main(given)
    except ValueError as unreadable:
        raise CoderFailed(str(unreadable)) from None


def _main(given: Mapping[str, Any]) -> int:
    choices = SavedChoices(state_directory() / "choices.json")
    project = project_root(existing(given.get("directory", ".")))
    if "revoke" in given or given.get("revoke_all"):
        return _revoke(choices, project, given.get("revoke"))
    listed = sorted(
        choices.read(project if "directory" in given else None), key=lambda each: (each.project, each.scope)
    )
    if given.get("json"):
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(listed)).decode() + "\n")
    else:
        sys.stdout.write(_as_text(listed))
    return 0


def _revoke(choices: SavedChoices, project: str, scope: str | None) -> int:
    gone = choices.revoke(project, scope)
    if not gone:
        what = "no choice" if scope is None else f"no choice about {scope!r}"
        raise CoderFailed(f"{what} is kept for {shown_path(Path(project))}; `accord permissions` lists them")
    sys.stdout.write(f"{gone} taken back; you will be asked again.\n")
    return 0


def _as_text(listed: list[SavedChoice]) -> str:
    if not listed:
        return "No choice is kept: you are asked every time.\n"
    lines: list[str] = []
    for project in dict.fromkeys(each.project for each in listed):
        lines.append(printable(shown_path(Path(project))))
        for each in listed:
            if each.project == project:
                verdict = "allowed " if each.allowed else "rejected"
                lines.append(f"  {verdict}  {printable(each.scope)}  since {each.when}")
    return "\n".join([*lines, "Take one back with `accord permissions --revoke SCOPE DIR`.", ""])
