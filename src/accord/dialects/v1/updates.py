"""Converts the session updates of v1. What v1 can't express is in the loss table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.options import commands_patch
from accord.dialects.all_versions.updates import PlanConverter, supported_entries, update_names
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.display_fallback import DisplayUpdates
from accord.dialects.display_state import DisplayDialect
from accord.dialects.terminal_meta import split_terminals
from accord.dialects.unset_values import none_if_unset, unset_if_none, whole_meta
from accord.dialects.v1 import terminals
from accord.dialects.v1.modes_and_options import COMMANDS, OPTIONS, options_to_wire
from accord.dialects.v1.rewrites import FinishedRewrite, RewriteDialect
from accord.dialects.v1.tool_calls import CONTENT, ITEMS, UPDATES, new_tool_call, patch_from_wire, patch_to_wire
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.content import Content
from accord.session.entities import AGENT, THOUGHT, USER, Message, Plan, PlanEntry
from accord.session.updates import (
    CommandsChanged,
    MessageChanged,
    MessageChunk,
    ModePatch,
    Patch,
    PlanChanged,
    PlanPatch,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    ToolCallPatch,
    UnknownUpdate,
)

MAIN_PLAN = "main"
"""v1 has one plan, without an id; in the session it has this one."""

_PLANS = PlanConverter(wire.PlanEntry)


def _tool_call_from_wire(dialect: Dialect, update: wire.ToolCall) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update, creates=True))


def _tool_call_update_from_wire(dialect: Dialect, update: wire.ToolCallUpdate) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update))


def plan_from_wire(dialect: Dialect, update: wire.Plan) -> list[Patch]:
    entries = list(map(_PLANS.entry_from_wire, update.entries))
    return [PlanPatch(plan=Plan(id=MAIN_PLAN, entries=entries, meta=none_if_unset(update.meta)), meta=update.meta)]


def mode_from_wire(dialect: Dialect, update: wire.CurrentModeUpdate) -> list[Patch]:
    return [ModePatch(mode_id=update.current_mode_id, meta=update.meta)]


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: UPDATES.chunk_from_wire(USER),
    wire.AgentMessageChunk: UPDATES.chunk_from_wire(AGENT),
    wire.AgentThoughtChunk: UPDATES.chunk_from_wire(THOUGHT),
    wire.ToolCall: _tool_call_from_wire,
    wire.ToolCallUpdateVariant: _tool_call_update_from_wire,
    wire.Plan: plan_from_wire,
    wire.AvailableCommandsUpdate: commands_patch,
    wire.CurrentModeUpdate: mode_from_wire,
    wire.ConfigOptionUpdate: OPTIONS.patch,
    **UPDATES.from_wire,
}

_CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
_DISPLAY = DisplayUpdates(
    UPDATES,
    ITEMS,
    options_to_wire,
    tool_call=wire.ToolCallUpdateVariant,
    options=wire.ConfigOptionUpdate,
    mode=wire.CurrentModeUpdate,
)


def _message_chunk(dialect: RewriteDialect, session_id: str, update: MessageChunk) -> list[Wire]:
    return _message(dialect, session_id, update, [update.content])


def _message_changed(dialect: RewriteDialect, session_id: str, update: MessageChanged) -> list[Wire]:
    blocks = update.message.content if update.created else update.added or []
    return _message(dialect, session_id, update, blocks)


def _message(
    dialect: RewriteDialect, session_id: str, update: MessageChunk | MessageChanged, blocks: list[Content]
) -> list[Wire]:
    rewrites, meta = dialect.rewrites[session_id], update.patch.meta
    if rewrites.holds_back(update):
        finished = rewrites.caught_up(update)
        chunks = [] if finished is None else rewrite_to_wire(dialect, session_id, finished)
    else:
        chunks = _chunks(dialect, update.message, rewrites.id_of(update.message), blocks, meta)
    if not chunks and meta is not UNSET:
        dialect.record_loss("message-patch", update.message.id)
    return chunks


def rewrite_to_wire(dialect: RewriteDialect, session_id: str, finished: FinishedRewrite) -> list[Wire]:
    """The chunks of a message that was rewritten."""
    rewrites, message = dialect.rewrites[session_id], finished.message
    if not finished.is_new:
        return _chunks(dialect, message, rewrites.id_of(message), finished.content)
    dialect.record_loss("message-patch", message.id)
    return _chunks(dialect, message, rewrites.rename(message), finished.content) if finished.content else []


def _chunks(
    dialect: Dialect, message: Message, message_id: str, blocks: Iterable[Content], meta: Any = UNSET
) -> list[Wire]:
    chunk = _CHUNKS[message.role]
    return [chunk(content=CONTENT.to_wire(dialect, block), message_id=message_id, meta=meta) for block in blocks]


def _tool_call_changed(dialect: DisplayDialect, session_id: str, update: ToolCallChanged) -> list[Wire]:
    call, patch = update.call, update.patch
    display = dialect.displays[session_id]
    display.track_call(call)
    meta = call.meta if type(patch) is ToolCallPatch else patch.meta
    if new := terminals.unannounced(dialect, session_id, call):
        return terminals.announce(dialect, session_id, call, new, meta)
    if update.created:
        display.send_content_now(call, has_content=True)
        return [new_tool_call(dialect, session_id, call, meta)]
    if type(patch) is not ToolCallPatch:
        if not display.send_item_now(call):
            return []
        content = ITEMS.to_wire(dialect, session_id, call.content)
        return [wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content, meta=patch.meta)]
    wire_update = patch_to_wire(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    if wire_update.meta is not UNSET:
        wire_update.meta = whole_meta(patch, call)
    send_content = display.send_content_now(call, has_content=patch.content is not UNSET)
    if send_content and wire_update.content is UNSET:
        wire_update.content = ITEMS.to_wire(dialect, session_id, call.content)
    return [wire_update]


def _terminal_changed(dialect: DisplayDialect, session_id: str, update: TerminalChanged) -> list[Wire]:
    if update.patch.cancellable:
        dialect.record_loss("cancellable", update.terminal.id)
    module = terminals if dialect.client.display_terminals else _DISPLAY
    return module.terminal_changed(dialect, session_id, update)


def _terminal_output(dialect: DisplayDialect, session_id: str, update: TerminalOutput) -> list[Wire]:
    module = terminals if dialect.client.display_terminals else _DISPLAY
    return module.terminal_output(dialect, session_id, update)


def _plan_changed(dialect: DisplayDialect, session_id: str, update: PlanChanged) -> list[Wire]:
    """The entries of all plans, in the order of their ids."""
    plan, plans = update.plan, dialect.displays[session_id].plans
    if plan.raw is None and plans and plan.id not in plans:
        dialect.record_loss("several-plans", plan.id)
    if not dialect.track_plan(session_id, plan):
        return []
    entries = [entry for _, each in sorted(plans.items()) for entry in _entries(dialect, each)]
    meta = update.patch.meta if update.patch.meta is not UNSET else unset_if_none(plan.meta)
    return [wire.Plan(entries=list(map(_PLANS.entry_to_wire, entries)), meta=meta)]


def _entries(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    for entry in supported_entries(dialect, plan):
        if entry.priority in ("high", "medium", "low"):
            yield entry
        else:
            dialect.record_loss("plan-priority", plan.id)
            yield replace(entry, priority="medium")


def _commands_changed(dialect: Dialect, session_id: str, update: CommandsChanged) -> list[Wire]:
    commands = [command for command in update.commands if command.raw is None]
    if len(commands) < len(update.commands):
        dialect.record_loss("command-type", session_id)
    return COMMANDS.update_to_wire(dialect, session_id, replace(update, commands=commands))


UPDATES_TO_WIRE: UpdatesToWire = {
    **_DISPLAY.to_wire,
    MessageChunk: _message_chunk,
    MessageChanged: _message_changed,
    ToolCallChanged: _tool_call_changed,
    TerminalChanged: _terminal_changed,
    TerminalOutput: _terminal_output,
    PlanChanged: _plan_changed,
    CommandsChanged: _commands_changed,
    UnknownUpdate: UPDATES.unknown_to_wire(update_names(UPDATES_FROM_WIRE)),
}
