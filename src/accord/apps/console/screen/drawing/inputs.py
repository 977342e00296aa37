"""What a tool was given. Law: what is not told beside it is shown, and nothing of that is cut."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, cast

import msgspec
from rich.text import Text
from textual.strip import Strip

from accord.apps.console.sanitising import visible
from accord.apps.console.screen.drawing.diffs import FileDiff
from accord.apps.console.screen.drawing.growing import GrowingLines
from accord.apps.console.screen.drawing.ink import Ink
from accord.apps.console.screen.drawing.parts import Frame, Part, unframed

__all__ = ["command_of", "command_parts", "open_value", "untold_input"]

# What tools mostly call their arguments. Another name only means that something is said twice.
_COMMANDS = ("command", "cmd")
_DIRECTORIES = ("cwd", "directory", "workdir")
_PATHS = ("path", "file_path", "filePath", "abs_path", "absolute_path")
_TEXTS = ("content", "old_text", "new_text", "old_string", "new_string", "old_str", "new_str", "file_text")
_SHORT = 100


def command_of(raw_input: Any) -> str | None:
    """The command line in a tool call's raw input, where agents mostly put it; its words quoted as a shell wants it."""
    for name in _COMMANDS:
        found = _members(raw_input).get(name)
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            return shlex.join(map(str, cast("list[Any]", found)))
    return None


def untold_input(
    raw_input: Any, cwd: str, *, paths: Collection[str], diffs: Sequence[FileDiff], texts: Collection[str]
) -> Any:
    """All of it but the command, and what the paths, diffs and texts beside it say in full; None if that is nothing."""
    if not isinstance(raw_input, dict):
        return raw_input
    members = dict(_members(raw_input))
    taken = next((name for name in _COMMANDS if isinstance(members.get(name), str | list)), None)
    left: dict[str, Any] = {}
    for name, value in members.items():
        is_told = isinstance(value, str) and (
            (name in _DIRECTORIES and _whole(value, cwd) == _whole(cwd, cwd))
            or (name in _PATHS and _whole(value, cwd) in paths)
            or (name in _TEXTS and any(_tells(diff, value) for diff in diffs))
            or (name == "description" and value in texts)
        )
        if name != taken and not is_told:
            left[name] = value
    return left or None


def open_value(name: str, value: Any, frame: Frame = unframed) -> list[Part]:
    """A value that the protocol leaves open: its members a line each, as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict):
        text = "\n".join(f"{_json(key)}: {_json(each)}" for key, each in _members(value).items())
    else:
        text = _json(value)
    return [Part(frame(partial(_name, name))), *GrowingLines(_lines, frame, visible(text)).parts]


def command_parts(command: str, frame: Frame = unframed) -> list[Part]:
    """The line as it would run."""
    text = "$ " + visible(command).replace("\n", "\n  ")
    return list(GrowingLines(_command_lines, frame, text).parts)


def _members(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _whole(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118  # the text of it, nothing is looked up


def _tells(diff: FileDiff, text: str) -> bool:
    """Whether the text is a piece of what the diff shows, or the whole of which it shows the changes."""
    text = text.replace("\r\n", "\n")
    olds, news = ([_side(hunk.lines, sign) for hunk in diff.hunks] for sign in "-+")
    return any(text.rstrip("\n") in side for side in [*olds, *news]) or bool(news and all(new in text for new in news))


def _side(lines: Sequence[Any], sign: str) -> str:
    return "\n".join(line.text for line in lines if line.sign in (" ", sign))


def _json(value: Any) -> str:
    short = msgspec.json.encode(value)
    return (short if len(short) <= _SHORT else msgspec.json.format(short, indent=2)).decode()


def _name(name: str, ink: Ink) -> list[Strip]:
    return [ink.strip(Text(f"{name}:", ink.palette.faint))]


def _lines(text: str, ink: Ink) -> list[Strip]:
    return [strip for line in text.split("\n") for strip in ink.folded(Text(line, ink.palette.muted))]


def _command_lines(text: str, ink: Ink) -> list[Strip]:
    lines = [Text.assemble((line[:2], ink.palette.accent), line[2:]) for line in text.split("\n")]
    return [strip for line in lines for strip in ink.folded(line)]
