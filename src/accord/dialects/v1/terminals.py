"""Display terminals for clients of v1 that support them: sent in the `_meta` of tool calls.

Law: a terminal is announced by a `tool_call`, before or with the first content that names it: Zed looks for it nowhere
else, and drops an update that names an unknown terminal. So a call that the client knows already is sent again, as a
whole. Output is sent once, by the call that announced the terminal, however many calls contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accord.dialects.display_fallback import CUT_NOTE, output_tail
from accord.dialects.display_state import DisplayDialect, DisplayState
from accord.dialects.terminal_meta import AnnouncedTerminal, exit_meta, info_meta, output_meta
from accord.dialects.v1.tool_calls import ITEMS, new_tool_call
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.entities import Terminal, TerminalItem, ToolCall
from accord.session.updates import TerminalChanged, TerminalOutput

_REPLACEMENT = b"\xef\xbf\xbd"


def unannounced(dialect: DisplayDialect, session_id: str, call: ToolCall) -> list[Terminal]:
    """The terminals of a call that the client supports and does not know yet."""
    if not dialect.client.display_terminals or not call.content:
        return []
    display = dialect.displays[session_id]
    ids = dict.fromkeys(item.terminal_id for item in call.content if type(item) is TerminalItem)
    return [display.terminals[id] for id in ids if id in display.terminals and id not in display.announced]


def announce(
    dialect: DisplayDialect, session_id: str, call: ToolCall, terminals: Sequence[Terminal], meta: Any = None
) -> list[Wire]:
    """The call, sent once for each of these terminals, and then their output; `meta` is the call's own `_meta`."""
    display = dialect.displays[session_id]
    display.send_content_now(call, has_content=True)
    updates: list[Wire] = []
    for terminal in terminals:
        display.announced[terminal.id] = AnnouncedTerminal(call.id)
        updates.append(new_tool_call(dialect, session_id, call, {**(meta or {}), **info_meta(terminal)}))
        if terminal.command is not None or terminal.size is not None:
            dialect.record_loss("terminal-details", terminal.id)
    for terminal in terminals:
        output, is_cut = output_tail(terminal)
        output = CUT_NOTE.encode() + output if is_cut else output
        updates += _output(dialect, display, terminal, output, ends=terminal.exit is not None)
    return updates


def terminal_changed(dialect: DisplayDialect, session_id: str, update: TerminalChanged) -> list[Wire]:
    """The new output of a terminal; an unknown one is announced if a call contains it."""
    terminal, patch = update.terminal, update.patch
    display = dialect.displays[session_id]
    before = display.terminals.get(terminal.id)
    display.track_terminal(terminal)
    if terminal.id not in display.announced:
        return _announce_late(dialect, session_id, terminal)
    output = b"" if patch.output is UNSET else _new_output(dialect, before, bytes(terminal.output))
    return _output(dialect, display, terminal, output, ends=bool(patch.exit))


def terminal_output(dialect: DisplayDialect, session_id: str, update: TerminalOutput) -> list[Wire]:
    terminal, display = update.terminal, dialect.displays[session_id]
    display.track_terminal(terminal)
    if terminal.id not in display.announced:
        return _announce_late(dialect, session_id, terminal)
    return _output(dialect, display, terminal, update.data, ends=False)


def _announce_late(dialect: DisplayDialect, session_id: str, terminal: Terminal) -> list[Wire]:
    """Announce a terminal that was in calls before, if it was."""
    calls = dialect.displays[session_id].calls_with(terminal.id)
    if not calls:
        return []
    first, *others = calls
    updates = announce(dialect, session_id, first, [terminal], first.meta)
    for call in others:
        content = ITEMS.to_wire(dialect, session_id, call.content)
        updates.append(wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content))
    return updates


def _output(
    dialect: DisplayDialect, display: DisplayState, terminal: Terminal, output: bytes, *, ends: bool
) -> list[Wire]:
    announced = display.announced[terminal.id]
    text = announced.decode(output, final=ends)
    if "\ufffd" in text and _REPLACEMENT not in output:
        dialect.record_loss("terminal-bytes", terminal.id)
    meta = output_meta(terminal.id, text) if text else {}
    if ends and terminal.exit is not None:
        meta |= exit_meta(terminal.id, terminal.exit)
    return [wire.ToolCallUpdateVariant(tool_call_id=announced.call_id, meta=meta)] if meta else []


def _new_output(dialect: DisplayDialect, before: Terminal | None, output: bytes) -> bytes:
    """The output after what was sent; where that was replaced, all of the new output."""
    old = b"" if before is None else bytes(before.output)
    if output.startswith(old):
        return output[len(old) :]
    dialect.record_loss("terminal-rewritten", "" if before is None else before.id)
    return output
