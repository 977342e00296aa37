"""Errors and notes about malformed values, in words.

Neither quotes values that the peer sent: an error goes back to it, a note into the log (FN-41).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

from accord.errors import Malformed

__all__ = ["KIND_NAMES", "Notes", "Path", "note_forgiven", "refuse", "refuse_value", "spelled", "wrong_kind"]

Path: TypeAlias = "tuple[Path, str | int] | None"
"""From the inside out; put into words only when something is wrong."""

Notes: TypeAlias = "list[str] | None"

KIND_NAMES = {
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    list: "array",
    dict: "object",
    type(None): "null",
}


def spelled(path: Path) -> str:
    """A path in words, such as `$.options[0].name`."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            # A key is the peer's choice too: only what looks like a name is repeated.
            parts.append(f".{key}" if len(key) <= 40 and key.isidentifier() and key.isascii() else "[...]")
    return "$" + "".join(reversed(parts))


def refuse(path: Path, reason: str) -> NoReturn:
    """What stands there is malformed."""
    raise Malformed(spelled(path), reason)


def refuse_value(path: Path, listed: Iterable[str], own: bool) -> NoReturn:
    """The value is none of the listed ones; with `own`, one of the implementer's own would do."""
    listed = list(filter(None, listed))  # nothing has the empty tag, see `Untagged`
    expected = f"one of {', '.join(listed)}" if len(listed) > 1 else f'"{listed[0]}"'
    refuse(path, f"expected {expected}{', or a name that begins with `_`' if own else ''}")


def wrong_kind(value: Any, path: Path, expected: str) -> NoReturn:
    """The value is of another kind than expected."""
    refuse(path, f"expected `{expected}`, got `{KIND_NAMES.get(value.__class__, 'something else')}`")


def note_forgiven(notes: Notes, path: Path, done: str, error: Malformed) -> None:
    """Note what was done about a malformed value, in place of an error."""
    if notes is not None:
        place = spelled(path)
        inside = "" if error.path == place else f" at {error.path}"
        notes.append(f"{place}: {done}, {error.reason}{inside}")
