"""Terminals that an agent shows, for clients of v1 that show them too: told in the `_meta` of tool calls.

Law: a terminal is announced by a `tool_call`, before or with the first content that names it: Zed looks for it nowhere else,
and drops an update that names a terminal it does not know. So a call that is known already is told again, as a whole. Output
is told once, by the call that announced the terminal, however many calls show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.dialects.display_fallback import TAIL, DisplayDialect, DisplayState
from accord.dialects.terminal_meta import AnnouncedTerminal, exit_meta, info_meta, output_meta
from accord.dialects.v1.tool_calls import ITEMS, new_tool_call
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.entities import Terminal, TerminalItem, ToolCall
from accord.session.updates import TerminalChanged, TerminalOutput

__all__ = ["announced", "terminal_changed", "terminal_output", "unannounced"]

_CUT = "[earlier output left out]\n"
_REPLACED = b"\xef\xbf\xbd"


def unannounced(dialect: DisplayDialect, session_id: str, call: ToolCall) -> list[Terminal]:
    """The terminals that a call shows, and the client could show if it were told of them."""
    if not dialect.client.display_terminals or not call.content:
        return []
    shown = dialect.shown(session_id)
    named = dict.fromkeys(item.terminal_id for item in call.content if type(item) is TerminalItem)
    return [shown.terminals[id] for id in named if id in shown.terminals and id not in shown.in_meta]


def announced(
    dialect: DisplayDialect, session_id: str, call: ToolCall, terminals: Sequence[Terminal], meta: Any = None
) -> list[Wire]:
    """The call, told once for each of these terminals, and then what they hold already; `meta` is its own `_meta`."""
    shown = dialect.shown(session_id)
    shown.content_told(call, anyway=True)
    updates: list[Wire] = []
    for terminal in terminals:
        shown.in_meta[terminal.id] = AnnouncedTerminal(call.id)
        updates.append(new_tool_call(dialect, session_id, call, {**(meta or {}), **info_meta(terminal)}))
        if terminal.command is not None or terminal.size is not None:
            dialect.lose("terminal-details", terminal.id)
    for terminal in terminals:
        updates += _told(dialect, shown, terminal, _kept(terminal), ends=terminal.exit is not None)
    return updates


def terminal_changed(dialect: DisplayDialect, session_id: str, change: TerminalChanged) -> list[Wire]:
    """What is new in a terminal; one that is shown and was not known is announced."""
    terminal, patch = change.terminal, change.patch
    shown = dialect.shown(session_id)
    before = shown.terminals.get(terminal.id)
    shown.keep(terminal)
    if terminal.id not in shown.in_meta:
        return _announced_late(dialect, session_id, terminal)
    output = b"" if patch.output is UNSET else _new_output(dialect, before, bytes(terminal.output))
    return _told(dialect, shown, terminal, output, ends=bool(patch.exit))


def terminal_output(dialect: DisplayDialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    """What was written, as it comes."""
    terminal, shown = change.terminal, dialect.shown(session_id)
    shown.keep(terminal)
    if terminal.id not in shown.in_meta:
        return _announced_late(dialect, session_id, terminal)
    return _told(dialect, shown, terminal, change.data, ends=False)


def _announced_late(dialect: DisplayDialect, session_id: str, terminal: Terminal) -> list[Wire]:
    """A terminal that calls name already, if any do."""
    calls = dialect.shown(session_id).calls_with(terminal.id)
    if not calls:
        return []
    first, *others = calls
    updates = announced(dialect, session_id, first, [terminal], first.meta)
    for call in others:
        content = ITEMS.to_wire(dialect, session_id, call.content)
        updates.append(wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content))
    return updates


def _told(dialect: DisplayDialect, shown: DisplayState, terminal: Terminal, output: bytes, *, ends: bool) -> list[Wire]:
    told = shown.in_meta[terminal.id]
    text = told.text(output, is_all=ends)
    if "\ufffd" in text and _REPLACED not in output:
        dialect.lose("terminal-bytes", terminal.id)
    meta = output_meta(terminal.id, text) if text else {}
    if ends and terminal.exit is not None:
        meta |= exit_meta(terminal.id, terminal.exit)
    return [wire.ToolCallUpdateVariant(tool_call_id=told.call_id, meta=meta)] if meta else []


def _new_output(dialect: DisplayDialect, before: Terminal | None, output: bytes) -> bytes:
    """What follows the output that was told; where that was replaced, all of the new one."""
    old = b"" if before is None else bytes(before.output)
    if output.startswith(old):
        return output[len(old) :]
    dialect.lose("terminal-rewritten", "" if before is None else before.id)
    return output


def _kept(terminal: Terminal) -> bytes:
    """The end of what was written before the client was told of it."""
    if len(terminal.output) <= TAIL:
        return bytes(terminal.output)
    return _CUT.encode() + terminal.output[-TAIL:].lstrip(bytes(range(0x80, 0xC0)))
