"""The settings in force, for people and for programs. Law: nothing secret leaves here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from accord.apps.coder.settings.directories import shown_path
from accord.apps.coder.settings.precedence import LoadedSettings
from accord.apps.coder.settings.settings import Settings
from accord.local.redaction import HIDDEN, redact
from accord.local.text import character_visibility

__all__ = ["HIDDEN", "as_json", "as_text", "printable", "without_secrets"]

_TELLING = re.compile(r"(?i)key|token|secret|password|credential|authorization")


def as_text(loaded: LoadedSettings) -> str:
    """A table of names, values and origins, and what became of the files."""
    rows = [(name, printable(value), origin) for name, value, origin in _rows(loaded)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    widths[1] = min(widths[1], 48)
    lines = [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip() for name, value, origin in rows]
    user = "" if _is_there(loaded.user_file) else "  (not there: defaults)"
    lines += ["", f"user settings     {shown_path(loaded.user_file)}{user}"]
    if loaded.project_file is not None:
        lines += [f"project settings  {shown_path(loaded.project_file)}  ({loaded.project_state})"]
    elif loaded.cwd is not None:
        lines += [f"project settings  none in {shown_path(loaded.cwd)} or above"]
    return "\n".join([printable(line) for line in [*lines, *loaded.notices]]) + "\n"


def as_json(loaded: LoadedSettings) -> str:
    """The same for programs: `settings` by name, each with `value` and `origin`, and `files`."""
    shown = {
        "settings": {name: {"value": value, "origin": origin} for name, value, origin in _rows(loaded)},
        "files": {
            "user": {"path": str(loaded.user_file), "exists": _is_there(loaded.user_file)},
            "project": {
                "path": None if loaded.project_file is None else str(loaded.project_file),
                "state": loaded.project_state,
            },
        },
        "notices": loaded.notices,
    }
    return msgspec.json.format(msgspec.json.encode(shown)).decode() + "\n"


def without_secrets(path: tuple[str, ...], value: Any) -> Any:
    """The value of a setting, as it may be shown."""
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


def printable(value: Any) -> str:
    """On one line, with nothing in it that a terminal would obey or that can't be seen."""
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return "".join(
        letter if is_seen else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter, is_seen in character_visibility(text)
    )


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


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
    shown: list[str] = []
    for position, argument in enumerate(args):
        name, equals, _ = argument.partition("=")
        before = args[position - 1] if position else ""
        if equals and _TELLING.search(name):
            shown.append(f"{name}={HIDDEN}")
        elif before.startswith("-") and "=" not in before and _TELLING.search(before) and not argument.startswith("-"):
            shown.append(HIDDEN)
        else:
            shown.append(argument)
    return shown
