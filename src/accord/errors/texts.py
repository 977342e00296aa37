"""Text of a peer made readable: the reason in an error's `data`, and output of a program without terminal sequences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, cast

from msgspec import UNSET

__all__ = ["SEQUENCES", "details_of", "escaped_controls", "output_text", "without_colours"]

SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\\Z)"  # CSI: colours, cursor
    "|(?:\x1b\\]|\x9d)[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC: titles, links; they end in their line
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x00-\x07\x0e-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # DCS and the like
    "|\x1b[ -/]*(?:[0-~]|\\Z)"  # the short ones
)
"""Sequences by which a program controls a terminal. One that is cut off by the end of the text counts, too."""

_COLOURS = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*m")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CODE = re.compile("[a-z0-9]+(?:_[a-z0-9]+)+")

_TELLING = ("message", "details", "detail", "reason", "error", "errors", "description", "cause", "msg", "title", "text")
"""Members that hold the reason itself, so that their names say nothing."""
_DEEPEST = 8
_MOST_MEMBERS = 50


def without_colours(text: str) -> str:
    """The text without what only colours it; every other control character stays."""
    return _COLOURS.sub("", text)


def output_text(text: str) -> str:
    """What a program wrote, without sequences and control characters; of a line written several times, the last."""
    lines = SEQUENCES.sub("", text).split("\n")
    return _CONTROLS.sub("", "\n".join(map(_written_last, lines)))


def escaped_controls(text: str) -> str:
    r"""The text with an escape such as `\x1b` in the place of each control character but line ends and tabs."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def details_of(data: Any, message: str, left_out: Collection[str] = ()) -> list[str]:
    """What an error's `data` says beyond its message, whatever its shape; the reason comes first.

    Each text, number and truth value in it counts once, with the name of its member unless that says nothing.
    """
    if isinstance(data, dict):
        data = {name: value for name, value in cast("dict[str, Any]", data).items() if name not in left_out}
    found: dict[str, None] = {}
    for path, leaf in islice(_leaves(data, (), 0), _MOST_MEMBERS):
        text = _text(leaf)
        if not text or (isinstance(leaf, str) and text.rstrip(".").casefold() in message.casefold()):
            continue
        says_nothing = not _CODE.fullmatch(text)
        names = [name for name in path if not (says_nothing and name in _TELLING)]
        found[f"{'.'.join(names)}: {text}" if names else text] = None
    return list(found)


def _leaves(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All that is in it, each with the names that lead there."""
    if depth > _DEEPEST or value is None or value is UNSET:
        return
    if isinstance(value, dict):
        members = {str(name): member for name, member in cast("dict[Any, Any]", value).items()}
        for name in sorted(members, key=lambda name: _TELLING.index(name) if name in _TELLING else len(_TELLING)):
            yield from _leaves(members[name], (*path, name), depth + 1)
    elif isinstance(value, list | tuple):
        entries = [*cast("list[Any] | tuple[Any, ...]", value)]
        if any(isinstance(entry, dict | list | tuple) for entry in entries):
            for entry in entries:
                yield from _leaves(entry, path, depth + 1)
        else:
            yield path, ", ".join(_text(entry) for entry in entries if entry is not None)
    else:
        yield path, value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return without_colours(str(value)).strip()


def _written_last(line: str) -> str:
    """A progress bar writes its line again and again."""
    return next((each for each in reversed(line.split("\r")) if each.strip()), "")
