"""`accord config`: what is set, and where each value came from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.apps.coder.settings.directories import config_directory, existing
from accord.apps.coder.settings.display import as_json, as_text
from accord.apps.coder.settings.precedence import load_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["describe", "main"]


def describe(parser: ArgumentParser) -> None:
    parser.description = (
        "Shows every setting that is in force in a directory, and where it came from. Secrets are hidden."
    )
    parser.add_argument("directory", metavar="DIR", nargs="?", help="the directory to ask for (default: this one)")
    parser.add_argument("--config", metavar="FILE", help="read this in place of the user's config.toml")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--path", action="store_true", help="only the path of the user's config.toml")


def main(given: Mapping[str, Any]) -> int:
    if given.get("path"):
        sys.stdout.write(f"{config_directory() / 'config.toml'}\n")
        return 0
    config = given.get("config")
    loaded = load_settings(existing(given.get("directory", ".")), config=Path(config) if config else None)
    sys.stdout.write((as_json if given.get("json") else as_text)(loaded))
    return 0
