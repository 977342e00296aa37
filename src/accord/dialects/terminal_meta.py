"""Terminals in the `_meta` of tool calls: how agents of v1 display the output of commands that they run. FN-104

`terminal_info` announces a terminal, `terminal_output` (with some agents `terminal_output_delta`) appends to its output,
and `terminal_exit` has the exit status. A client offers to display such terminals by `terminal_output` in the `_meta` of
its capabilities. The protocol does not specify this; Zed began it, and others have followed.
"""

from __future__ import annotations

import codecs
import shlex
from typing import Any, cast

from accord.session.entities import Exit, Terminal, TerminalItem
from accord.session.updates import Patch, TerminalAppend, TerminalPatch, ToolCallPatch
from accord.session.value import UNSET

_INFO, _OUTPUT, _EXIT = "terminal_info", "terminal_output", "terminal_exit"
_OUTPUTS = (_OUTPUT, "terminal_output_delta")
_KEYS = frozenset((_INFO, _EXIT, *_OUTPUTS))
_MAX_EXIT_CODE = 2**32 - 1


def info_meta(terminal: Terminal) -> dict[str, Any]:
    """The `_meta` that announces a terminal."""
    cwd = {} if terminal.cwd is None else {"cwd": terminal.cwd}
    return {_INFO: {"terminal_id": terminal.id, **cwd}}


def output_meta(terminal_id: str, text: str) -> dict[str, Any]:
    """The `_meta` that appends to the output of a terminal."""
    return {_OUTPUT: {"terminal_id": terminal_id, "data": text}}


def exit_meta(terminal_id: str, status: Exit) -> dict[str, Any]:
    """The `_meta` that ends a terminal."""
    return {_EXIT: {"terminal_id": terminal_id, "exit_code": status.code, "signal": status.signal}}


class AnnouncedTerminal:
    """A terminal that the client knows by the tool call `call_id`; its output is sent as whole characters."""

    __slots__ = ("_decode", "call_id")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def decode(self, output: bytes, *, final: bool) -> str:
        """The next part of the output; an incomplete character waits for the rest, unless this is the `final` part."""
        return self._decode(output, final)


def split_terminals(patch: ToolCallPatch) -> list[Patch]:
    """The patches in an update of a tool call: the call itself, and the terminals in its `_meta`, which loses them.

    Malformed entries stay in `_meta` and have no effect. An update that is only about a terminal has no patch of the
    call.
    """
    meta = patch.meta
    if not isinstance(meta, dict) or _KEYS.isdisjoint(meta):
        return [patch]
    entries = {key: entry for key in _KEYS if (entry := _valid_entry(key, meta.get(key))) is not None}
    if not entries:
        return [patch]
    patch.meta = {key: value for key, value in meta.items() if key not in entries} or UNSET
    terminals: list[Patch] = []
    if info := entries.get(_INFO):
        terminals.append(
            TerminalPatch(id=info["terminal_id"], command=_command(patch), cwd=_text(info, "cwd") or UNSET)
        )
        _add_item(patch, info["terminal_id"])
    output = next((entries[key] for key in _OUTPUTS if key in entries), None)
    if output and output["data"]:
        terminals.append(TerminalAppend(id=output["terminal_id"], data=output["data"].encode("utf-8", "replace")))
    if end := entries.get(_EXIT):
        status = Exit(code=_code(end.get("exit_code")), signal=_text(end, "signal"))
        terminals.append(TerminalPatch(id=end["terminal_id"], exit=status))
    is_empty = patch == ToolCallPatch(id=patch.id, meta_replaces=patch.meta_replaces)
    return terminals if is_empty else [patch, *terminals]


def _valid_entry(key: str, value: Any) -> dict[str, Any] | None:
    entry = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    is_valid = _text(entry, "terminal_id") and (key not in _OUTPUTS or isinstance(entry.get("data"), str))
    return entry if is_valid else None


def _add_item(patch: ToolCallPatch, terminal_id: str) -> None:
    """Put a terminal into the content of the call that announces it, if the content does not have it."""
    items = [] if patch.content is UNSET else patch.content or []
    has_it = any(isinstance(item, TerminalItem) and item.terminal_id == terminal_id for item in items)
    if not has_it and (patch.creates or patch.content is not UNSET):
        patch.content = [*items, TerminalItem(terminal_id=terminal_id)]


def _command(patch: ToolCallPatch) -> Any:
    raw = patch.raw_input
    command = cast("dict[str, Any]", raw).get("command") if isinstance(raw, dict) else None
    if isinstance(command, list) and all(isinstance(part, str) for part in cast("list[Any]", command)):
        command = shlex.join(cast("list[str]", command))
    return command if isinstance(command, str) and command else UNSET


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) and value else None


def _code(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_EXIT_CODE else None
