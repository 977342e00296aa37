"""`accord config`: shows the settings in force and where each came from. Law: no secret leaves here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accord.apps.coder.settings.directories import config_directory, display_path, existing_directory
from accord.apps.coder.settings.precedence import LoadedSettings, load_settings
from accord.apps.coder.settings.settings import Settings
from accord.local.redaction import HIDDEN, redact
from accord.local.text import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["add_arguments", "as_json", "as_text", "display_value", "main", "without_secrets"]

_SECRET_NAME = re.compile(r"(?i)key|token|secret|password|credential|authorization")
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


def without_secrets(path: tuple[str, ...], value: Any) -> Any:
    """The value of a setting with its secrets replaced."""
    match path, value:
        case ("environment", _) | (_, _, "env" | "headers", _), _:
            return HIDDEN
        case (_, _, "args"), list():
            return _without_secret_arguments(value)  # pyright: ignore[reportUnknownArgumentType]
        case _, msgspec.Struct():
            return {
                name: without_secrets((*path, name), getattr(value, name))
                for name in value.__struct_fields__
                if getattr(value, name) not in (None, [], {})
            }
        case _, dict():
            return {key: without_secrets((*path, key), each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case ("base_urls", _) | (_, _, "url"), str():
            return redact(value)
        case _:
            return value


def display_value(value: Any) -> str:
    """A value on one line, with invisible and control characters escaped."""
    if value is None:
        return "not set"
    return printable(value if isinstance(value, str) else msgspec.json.encode(value).decode())


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


def _without_secret_arguments(args: list[str]) -> list[str]:
    result: list[str] = []
    for previous, argument in zip(["", *args], args, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and _SECRET_NAME.search(name):
            result.append(f"{name}={HIDDEN}")
        elif _is_secret_flag(previous) and not argument.startswith("-"):
            result.append(HIDDEN)
        else:
            result.append(argument)
    return result


def _is_secret_flag(argument: str) -> bool:
    return argument.startswith("-") and "=" not in argument and _SECRET_NAME.search(argument) is not None
