"""Terminals in the `_meta` of tool calls: how agents of v1 show the output of commands that they run themselves. FN-104

`terminal_info` announces a terminal, `terminal_output` (with some agents `terminal_output_delta`) appends to its output, and
`terminal_exit` says how the command ended. A client says by `terminal_output` in the `_meta` of its capabilities that it
shows such terminals. The protocol knows nothing of this; Zed began it, and others have followed.
"""

from __future__ import annotations

import codecs
import shlex
from typing import Any, cast

from accord.session.entities import Exit, Terminal, TerminalItem
from accord.session.updates import Patch, TerminalAppend, TerminalPatch, ToolCallPatch
from accord.session.value import UNSET

__all__ = ["AnnouncedTerminal", "exit_meta", "info_meta", "output_meta", "split_terminals"]

_INFO, _OUTPUT, _EXIT = "terminal_info", "terminal_output", "terminal_exit"
_OUTPUTS = (_OUTPUT, "terminal_output_delta")
_KEYS = frozenset((_INFO, _EXIT, *_OUTPUTS))
_LARGEST_CODE = 2**32 - 1


def info_meta(terminal: Terminal) -> dict[str, Any]:
    """What announces a terminal."""
    place = {} if terminal.cwd is None else {"cwd": terminal.cwd}
    return {_INFO: {"terminal_id": terminal.id, **place}}


def output_meta(terminal_id: str, text: str) -> dict[str, Any]:
    """What appends to the output of a terminal."""
    return {_OUTPUT: {"terminal_id": terminal_id, "data": text}}


def exit_meta(terminal_id: str, ended: Exit) -> dict[str, Any]:
    """What says how the command of a terminal ended."""
    return {_EXIT: {"terminal_id": terminal_id, "exit_code": ended.code, "signal": ended.signal}}


class AnnouncedTerminal:
    """A terminal that a client was told of, by the tool call that announced it; its output goes out as whole characters."""

    __slots__ = ("_decode", "call_id")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def text(self, output: bytes, *, is_all: bool) -> str:
        """The next part of the output; a character that is not complete waits for the rest, unless that `is_all`."""
        return self._decode(output, is_all)


def split_terminals(patch: ToolCallPatch) -> list[Patch]:
    """What an update of a tool call reports: the call, and the terminals in its `_meta`, which is left without them.

    What is malformed there stays where it is, and means nothing. An update that only tells of a terminal does not
    report the call.
    """
    meta = patch.meta
    if not isinstance(meta, dict) or _KEYS.isdisjoint(meta):
        return [patch]
    said = {key: members for key in _KEYS if (members := _members(key, meta.get(key))) is not None}
    if not said:
        return [patch]
    patch.meta = {key: value for key, value in meta.items() if key not in said} or UNSET
    terminals: list[Patch] = []
    if info := said.get(_INFO):
        terminals.append(
            TerminalPatch(id=info["terminal_id"], command=_command(patch), cwd=_text(info, "cwd") or UNSET)
        )
        _show(patch, info["terminal_id"])
    output = next((said[key] for key in _OUTPUTS if key in said), None)
    if output and output["data"]:
        terminals.append(TerminalAppend(id=output["terminal_id"], data=output["data"].encode("utf-8", "replace")))
    if ended := said.get(_EXIT):
        how = Exit(code=_code(ended.get("exit_code")), signal=_text(ended, "signal"))
        terminals.append(TerminalPatch(id=ended["terminal_id"], exit=how))
    is_empty = patch == ToolCallPatch(id=patch.id, meta_replaces=patch.meta_replaces)
    return terminals if is_empty else [patch, *terminals]


def _members(key: str, said: Any) -> dict[str, Any] | None:
    """What is said of a terminal; None for what can't be understood."""
    members = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    is_understood = _text(members, "terminal_id") and (key not in _OUTPUTS or isinstance(members.get("data"), str))
    return members if is_understood else None


def _show(patch: ToolCallPatch, terminal_id: str) -> None:
    """Show a terminal in the call that announces it, also where its content does not name it."""
    items = [] if patch.content is UNSET else patch.content or []
    is_named = any(isinstance(item, TerminalItem) and item.terminal_id == terminal_id for item in items)
    if not is_named and (patch.creates or patch.content is not UNSET):
        patch.content = [*items, TerminalItem(terminal_id=terminal_id)]


def _command(patch: ToolCallPatch) -> Any:
    raw = patch.raw_input
    command = cast("dict[str, Any]", raw).get("command") if isinstance(raw, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in cast("list[Any]", command)):
        command = shlex.join(cast("list[str]", command))
    return command if isinstance(command, str) and command else UNSET


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) and value else None


def _code(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _LARGEST_CODE else None
