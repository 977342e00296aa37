"""What a tool is given and what it is called, before it is drawn or printed.

Law: what is not told beside it is told by it, and nothing of that is cut.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from accord.apps.console.sanitising import visible
from accord.client.clearing import DIRECTORIES
from accord.session.requests import CommandSubject, RequestPermission, ToolCallSubject

__all__ = ["command_of", "tells", "untold_input", "untold_names", "value_text"]

# What tools mostly call their arguments. Another name only means that something is said twice.
_COMMANDS = ("command", "cmd")
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
    raw_input: Any, cwd: str, *, paths: Collection[str], texts: Collection[str], is_in_diffs: Callable[[str], bool]
) -> Any:
    """All of it but the command, and what the paths, texts and diffs beside it say in full; None if that is nothing."""
    if not isinstance(raw_input, dict):
        return raw_input
    members = dict(_members(raw_input))
    taken = next((name for name in _COMMANDS if isinstance(members.get(name), str | list)), None)
    left: dict[str, Any] = {}
    for name, value in members.items():
        is_told = isinstance(value, str) and (
            (name in DIRECTORIES and _whole(value, cwd) == _whole(cwd, cwd))
            or (name in _PATHS and _whole(value, cwd) in paths)
            or (name in _TEXTS and is_in_diffs(value))
            or (name == "description" and value in texts)
        )
        if name != taken and not is_told:
            left[name] = value
    return left or None


def tells(olds: Sequence[str], news: Sequence[str], text: str) -> bool:
    """Whether a diff with these stretches of both sides shows the text, or the changes of which it is the outcome."""
    text = text.replace("\r\n", "\n")
    is_piece = any(text.rstrip("\n") in side for side in [*olds, *news])
    return is_piece or (bool(news) and all(new and new in text for new in news))


def untold_names(asked: RequestPermission, head: str) -> Iterator[tuple[str, str]]:
    """Each name that the agent has for it and what that is the name of, unless the head or the command is just that."""
    told, names = {"", head}, [("title", asked.title)]
    if isinstance(asked.subject, CommandSubject):
        told |= {visible(f"{sign}{asked.subject.command}").strip() for sign in ("", "Run ")}
    if isinstance(asked.subject, ToolCallSubject):
        call = asked.subject.call
        told.add(visible(command_of(call.raw_input) or "").strip())
        names += [("tool call", call.title or None), ("tool", call.name or None)]
    for what, name in names:
        text = visible(name or "").strip()
        if text not in told:
            told.add(text)
            yield what, text


def value_text(value: Any) -> str:
    """A value that the protocol leaves open: its members a line each, as JSON."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return visible("\n".join(f"{_json(name)}: {_json(each)}" for name, each in _members(value).items()))
    return visible(_json(value))


def _members(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _whole(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118  # the text of it, nothing is looked up


def _json(value: Any) -> str:
    short = msgspec.json.encode(value)
    return (short if len(short) <= _SHORT else msgspec.json.format(short, indent=2)).decode()
