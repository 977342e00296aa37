"""Error messages and log notes about malformed values.

Neither quotes a value that the peer sent: errors are sent back to the peer, notes are logged (FN-41).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

from accord.errors import Malformed

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Nested from the inside out; turned into text only for an error or a note."""

Notes: TypeAlias = "list[str] | None"

KIND_NAMES = {str: "str", bool: "bool", int: "int", float: "float", list: "array", dict: "object", type(None): "null"}


def path_text(path: Path) -> str:
    """The path as text, such as `$.options[0].name`."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            # The peer chooses the keys too: only a key that looks like a name is repeated.
            parts.append(f".{key}" if len(key) <= 40 and key.isidentifier() and key.isascii() else "[...]")
    return "$" + "".join(reversed(parts))


def reject(path: Path, reason: str) -> NoReturn:
    """Raise `Malformed`."""
    raise Malformed(path_text(path), reason)


def reject_value(path: Path, values: Iterable[str], own: bool) -> NoReturn:
    """Raise `Malformed`: the value is not one of these; with `own`, an implementer's own value is allowed too."""
    values = list(filter(None, values))  # the empty tag is `Untagged`
    expected = f"one of {', '.join(values)}" if len(values) > 1 else f'"{values[0]}"'
    reject(path, f"expected {expected}{', or a name that begins with `_`' if own else ''}")


def reject_kind(value: Any, path: Path, expected: str) -> NoReturn:
    """Raise `Malformed`: the value has another JSON type than expected."""
    reject(path, f"expected `{expected}`, got `{KIND_NAMES.get(value.__class__, 'other')}`")


def note(notes: Notes, path: Path, text: str) -> None:
    """Note that a value was tolerated."""
    if notes is not None:
        notes.append(f"{path_text(path)}: {text}")


def note_error(notes: Notes, path: Path, action: str, error: Malformed) -> None:
    """Note that a malformed value was tolerated, and what was done with it."""
    if notes is not None:
        place = path_text(path)
        inside = "" if error.path == place else f" at {error.path}"
        notes.append(f"{place}: {action}, {error.reason}{inside}")
