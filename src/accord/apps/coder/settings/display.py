"""`accord config`: shows the settings in force and where each came from, without secrets."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accord.apps.coder.settings.files import config_directory, display_path, existing_directory
from accord.apps.coder.settings.precedence import LoadedSettings, load_settings
from accord.apps.coder.settings.settings import Settings
from accord.apps.coder.settings.validation import display_value, without_secrets
from accord.local.text import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

_MAX_VALUE_COLUMN = 48


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Shows every setting that is in force in a directory, and where it came from. Secrets are hidden."
    )
    parser.add_argument("directory", metavar="DIR", nargs="?", help="the directory (default: the current one)")
    parser.add_argument("--config", metavar="FILE", help="read this instead of the user's config.toml")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--path", action="store_true", help="only print the path of the user's config.toml")


def main(arguments: Mapping[str, Any]) -> int:
    if arguments.get("path"):
        sys.stdout.write(f"{config_directory() / 'config.toml'}\n")
        return 0
    config = arguments.get("config")
    directory = existing_directory(arguments.get("directory", "."))
    loaded = load_settings(directory, config=Path(config) if config else None)
    sys.stdout.write((as_json if arguments.get("json") else as_text)(loaded))
    return 0


def as_text(loaded: LoadedSettings) -> str:
    """A table of names, values and origins, and the state of the files."""
    rows = [(name, display_value(value), origin) for name, value, origin in _rows(loaded)]
    name_width = max(len(name) for name, _, _ in rows)
    value_width = min(max(len(value) for _, value, _ in rows), _MAX_VALUE_COLUMN)
    lines = [f"{name:<{name_width}}  {value:<{value_width}}  {origin}".rstrip() for name, value, origin in rows]
    missing = "" if os.path.lexists(loaded.user_file) else "  (file not found: defaults)"
    lines += ["", f"user settings     {display_path(loaded.user_file)}{missing}"]
    if loaded.project_file is not None:
        lines += [f"project settings  {display_path(loaded.project_file)}  ({loaded.project_state})"]
    elif loaded.cwd is not None:
        lines += [f"project settings  none in {display_path(loaded.cwd)} or above"]
    return "\n".join([printable(line) for line in [*lines, *loaded.notices]]) + "\n"


def as_json(loaded: LoadedSettings) -> str:
    """The same as JSON: `settings` by name, each with `value` and `origin`, and `files`."""
    document = {
        "settings": {name: {"value": value, "origin": origin} for name, value, origin in _rows(loaded)},
        "files": {
            "user": {"path": str(loaded.user_file), "exists": os.path.lexists(loaded.user_file)},
            "project": {
                "path": None if loaded.project_file is None else str(loaded.project_file),
                "state": loaded.project_state,
            },
        },
        "notices": loaded.notices,
    }
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


def _rows(loaded: LoadedSettings) -> list[tuple[str, Any, str]]:
    rows: list[tuple[str, Any, str]] = []
    for name in Settings.__struct_fields__:
        value = getattr(loaded.settings, name)
        if isinstance(value, dict):
            entries = without_secrets((name,), value)
            rows += [(f"{name}.{key}", entry, loaded.origins[f"{name}.{key}"]) for key, entry in entries.items()]
        else:
            rows.append((name, value, loaded.origins[name]))
    return rows
