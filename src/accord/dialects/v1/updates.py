"""Maps session updates between v1 and the session model. What v1 can't express is in the loss table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from accord.dialects.all_versions.options import commands_report
from accord.dialects.all_versions.plans import entries_from_wire, entries_to_wire
from accord.dialects.all_versions.updates import tags_of
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.display_fallback import DisplayDialect, DisplayUpdates, supported_entries, track_plan
from accord.dialects.terminal_meta import split_terminals
from accord.dialects.unset_values import meta_whole, none_if_unset, unset_if_none
from accord.dialects.v1 import terminals
from accord.dialects.v1.modes_and_options import COMMANDS, options_from_wire, options_to_wire
from accord.dialects.v1.rewrites import FinishedRewrite, RewriteDialect
from accord.dialects.v1.tool_calls import ALIKE, CONTENT, ITEMS, new_tool_call, patch_from_wire, patch_to_wire
from accord.schema import v1 as wire
from accord.schema.wire_values import UNSET, Wire
from accord.session.content import Content
from accord.session.entities import AGENT, THOUGHT, USER, Message, Plan, PlanEntry
from accord.session.updates import (
    CommandsChanged,
    MessageChanged,
    MessageChunk,
    ModePatch,
    OptionsPatch,
    Patch,
    PlanChanged,
    PlanPatch,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    ToolCallPatch,
    UnknownUpdate,
)

__all__ = ["MAIN_PLAN", "TAGS", "UPDATES_FROM_WIRE", "UPDATES_TO_WIRE", "mode", "plan", "settled_to_wire"]

MAIN_PLAN = "main"
"""v1 has one plan, without an id; in words it has this one."""


def tool_call(dialect: Dialect, update: wire.ToolCall) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update, creates=True))


def tool_call_update(dialect: Dialect, update: wire.ToolCallUpdate) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update))


def plan(dialect: Dialect, update: wire.Plan) -> list[Patch]:
    entries = entries_from_wire(update.entries)
    return [PlanPatch(plan=Plan(id=MAIN_PLAN, entries=entries, meta=none_if_unset(update.meta)), meta=update.meta)]


def mode(dialect: Dialect, update: wire.CurrentModeUpdate) -> list[Patch]:
    return [ModePatch(mode_id=update.current_mode_id, meta=update.meta)]


def options(dialect: Dialect, update: wire.ConfigOptionUpdate) -> list[Patch]:
    return [OptionsPatch(options=options_from_wire(dialect, update.config_options), meta=update.meta)]


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: ALIKE.piece(USER),
    wire.AgentMessageChunk: ALIKE.piece(AGENT),
    wire.AgentThoughtChunk: ALIKE.piece(THOUGHT),
    wire.ToolCall: tool_call,
    wire.ToolCallUpdateVariant: tool_call_update,
    wire.Plan: plan,
    wire.AvailableCommandsUpdate: commands_report,
    wire.CurrentModeUpdate: mode,
    wire.ConfigOptionUpdate: options,
    **ALIKE.from_wire,
}

TAGS = tags_of(UPDATES_FROM_WIRE)

CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
_SHOWING = DisplayUpdates(
    ALIKE,
    ITEMS,
    options_to_wire,
    tool_call=wire.ToolCallUpdateVariant,
    options=wire.ConfigOptionUpdate,
    mode=wire.CurrentModeUpdate,
)


def message_chunk(dialect: RewriteDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    return _message_told(dialect, session_id, change, [change.content])


def message_changed(dialect: RewriteDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    blocks = change.message.content if change.created else change.added or []
    return _message_told(dialect, session_id, change, blocks)


def _message_told(
    dialect: RewriteDialect, session_id: str, change: MessageChunk | MessageChanged, blocks: list[Content]
) -> list[Wire]:
    rewrites, meta = dialect.rewrites(session_id), change.patch.meta
    if rewrites.holds(change):
        settled = rewrites.caught_up(change)
        updates = [] if settled is None else settled_to_wire(dialect, session_id, settled)
    else:
        updates = _chunks(dialect, change.message, rewrites.id_of(change.message), blocks, meta)
    if not updates and meta is not UNSET:
        dialect.lose("message-patch", change.message.id)
    return updates


def settled_to_wire(dialect: RewriteDialect, session_id: str, settled: FinishedRewrite) -> list[Wire]:
    """What is told of a message that was written anew."""
    rewrites, message = dialect.rewrites(session_id), settled.message
    if not settled.is_new:
        return _chunks(dialect, message, rewrites.id_of(message), settled.content)
    dialect.lose("message-patch", message.id)
    return _chunks(dialect, message, rewrites.rename(message), settled.content) if settled.content else []


def _chunks(
    dialect: Dialect, message: Message, message_id: str, blocks: Iterable[Content], meta: Any = UNSET
) -> list[Wire]:
    kind = CHUNKS[message.role]
    return [kind(content=CONTENT.to_wire(dialect, block), message_id=message_id, meta=meta) for block in blocks]


def tool_call_changed(dialect: DisplayDialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
    call, patch = change.call, change.patch
    shown = dialect.shown(session_id)
    shown.hold(call)
    meta = call.meta if type(patch) is ToolCallPatch else patch.meta
    if new := terminals.unannounced(dialect, session_id, call):
        return terminals.announced(dialect, session_id, call, new, meta)
    if change.created:
        shown.content_told(call, anyway=True)
        return [new_tool_call(dialect, session_id, call, meta)]
    if type(patch) is not ToolCallPatch:
        if not shown.piece_told(call):
            return []
        content = ITEMS.to_wire(dialect, session_id, call.content)
        return [wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content, meta=patch.meta)]
    update = patch_to_wire(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    if update.meta is not UNSET:
        update.meta = meta_whole(patch, call)
    if shown.content_told(call, anyway=patch.content is not UNSET) and update.content is UNSET:
        update.content = ITEMS.to_wire(dialect, session_id, call.content)
    return [update]


def terminal_changed(dialect: DisplayDialect, session_id: str, change: TerminalChanged) -> list[Wire]:
    if change.patch.cancellable:
        dialect.lose("cancellable", change.terminal.id)
    if dialect.client.display_terminals:
        return terminals.terminal_changed(dialect, session_id, change)
    return _SHOWING.terminal_changed(dialect, session_id, change)


def terminal_output(dialect: DisplayDialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    if dialect.client.display_terminals:
        return terminals.terminal_output(dialect, session_id, change)
    return _SHOWING.terminal_output(dialect, session_id, change)


def plan_changed(dialect: DisplayDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    """The entries of all plans, in the order of their ids."""
    plan, plans = change.plan, dialect.shown(session_id).plans
    if plan.raw is None and plans and plan.id not in plans:
        dialect.lose("several-plans", plan.id)
    if not track_plan(dialect, session_id, plan):
        return []
    entries = [entry for _, each in sorted(plans.items()) for entry in _entries(dialect, each)]
    meta = change.patch.meta if change.patch.meta is not UNSET else unset_if_none(plan.meta)
    return [wire.Plan(entries=entries_to_wire(wire.PlanEntry, entries), meta=meta)]


def _entries(dialect: Dialect, plan: Plan) -> Iterator[PlanEntry]:
    for entry in supported_entries(dialect, plan):
        if entry.priority in ("high", "medium", "low"):
            yield entry
        else:
            dialect.lose("plan-priority", plan.id)
            yield replace(entry, priority="medium")


def commands_changed(dialect: Dialect, session_id: str, change: CommandsChanged) -> list[Wire]:
    commands = [command for command in change.commands if command.raw is None]
    if len(commands) < len(change.commands):
        dialect.lose("command-type", session_id)
    return COMMANDS.changed(dialect, session_id, replace(change, commands=commands))


UPDATES_TO_WIRE: UpdatesToWire = {
    **_SHOWING.to_wire,
    MessageChunk: message_chunk,
    MessageChanged: message_changed,
    ToolCallChanged: tool_call_changed,
    TerminalChanged: terminal_changed,
    TerminalOutput: terminal_output,
    PlanChanged: plan_changed,
    CommandsChanged: commands_changed,
    UnknownUpdate: ALIKE.unknown_to_wire(TAGS),
}
