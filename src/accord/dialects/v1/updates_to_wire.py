"""Changes as v1 updates. v1 has no patches of messages, no display terminals and no states: see the loss table."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import told
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.content import ALIKE, CONTENT
from accord.dialects.v1.options import command_to_wire, options_to_wire
from accord.dialects.v1.tool_calls import items_to_wire, locations_to_wire, status_to_wire
from accord.schema import v1 as wire
from accord.schema.values import UNSET, Wire
from accord.session.entities import AGENT, OTHER, PENDING, THOUGHT, USER, Terminal, ToolCall
from accord.session.updates import (
    CommandsChanged,
    CompactionChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolCallChanged,
    ToolCallPatch,
)

__all__ = ["UPDATES_TO_WIRE"]

CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}


def message_chunk(dialect: ShowingDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    patch = change.patch
    return [CHUNKS[message.role](content=CONTENT.to_wire(change.content), message_id=message.id, meta=patch.meta)]


def message_changed(dialect: ShowingDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    if change.created or change.added is not None:
        blocks = message.content if change.created else change.added or []
        chunk = CHUNKS[message.role]
        updates: list[Wire] = [
            chunk(content=CONTENT.to_wire(block), message_id=message.id, meta=patch.meta) for block in blocks
        ]
        if not updates and patch.meta is not UNSET:
            dialect.lose("message-patch", message.id)
        return updates
    dialect.lose("message-patch", message.id)
    return []


def tool_call_changed(dialect: ShowingDialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
    call, patch = change.call, change.patch
    shown = dialect.shown(session_id)
    shown.hold(call)
    if change.created:
        return [_new_tool_call(dialect, session_id, call, patch.meta)]
    if type(patch) is not ToolCallPatch:
        content = items_to_wire(dialect, session_id, call.content)
        return [wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content, meta=patch.meta)]
    return [patched(dialect, session_id, patch, wire.ToolCallUpdateVariant)]


def _new_tool_call(dialect: ShowingDialect, session_id: str, call: ToolCall, meta: Any) -> Wire:
    return wire.ToolCall(
        tool_call_id=call.id,
        title=call.title or call.name or (call.kind if call.kind != OTHER else call.id),
        name=told(call.name),
        kind=kind_to_wire(dialect, call.kind, call.id),
        status=status_to_wire(dialect, call.status, call.id),
        content=items_to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(call.locations) if call.locations else UNSET,
        raw_input=told(call.raw_input),
        raw_output=told(call.raw_output),
        meta=meta,
    )


def patched(
    dialect: ShowingDialect, session_id: str, patch: ToolCallPatch, to: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A patch of a tool call; what it clears is set to the value that says nothing, since null changes nothing."""
    if patch.raw_input is None or patch.raw_output is None:
        dialect.lose("raw-cleared", patch.id)
    if patch.cancellable:
        dialect.lose("cancellable", patch.id)
    if patch.meta is None:
        dialect.lose("meta-cleared", patch.id)
    return to(
        tool_call_id=patch.id,
        title="" if patch.title is None else patch.title,
        name=UNSET if patch.name is None else patch.name,
        kind=UNSET if patch.kind is UNSET else kind_to_wire(dialect, patch.kind or OTHER, patch.id),
        status=UNSET if patch.status is UNSET else status_to_wire(dialect, patch.status or PENDING, patch.id),
        content=UNSET if patch.content is UNSET else items_to_wire(dialect, session_id, patch.content or []),
        locations=UNSET if patch.locations is UNSET else locations_to_wire(patch.locations or []),
        raw_input=UNSET if patch.raw_input is None else patch.raw_input,
        raw_output=UNSET if patch.raw_output is None else patch.raw_output,
        meta=UNSET if patch.meta is None else patch.meta,
    )


KINDS = frozenset(("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"))


def kind_to_wire(dialect: ShowingDialect, kind: str, about: str) -> str:
    if kind in KINDS:
        return kind
    dialect.lose("tool-kind", about)
    return OTHER


def terminal_changed(dialect: ShowingDialect, session_id: str, change: TerminalChanged) -> list[Wire]:
    return _terminal_told(dialect, session_id, change.terminal, whole=True)


def terminal_output(dialect: ShowingDialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    return _terminal_told(dialect, session_id, change.terminal, whole=False)


def _terminal_told(dialect: ShowingDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Wire]:
    shown = dialect.shown(session_id)
    if terminal.id not in shown.terminals:
        shown.terminals[terminal.id] = terminal
        dialect.lose("display-terminal", terminal.id)
    if not (whole or shown.grown_enough(terminal)):
        return []
    return [
        wire.ToolCallUpdateVariant(tool_call_id=call.id, content=items_to_wire(dialect, session_id, call.content))
        for call in shown.calls_with(terminal.id)
    ]


def plan_changed(dialect: ShowingDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    plan = change.plan
    if plan.raw is not None:
        dialect.lose("plan-type", plan.id)
        return []
    plans = dialect.shown(session_id).plans
    if plans and plan.id not in plans:
        dialect.lose("several-plans", plan.id)
    plans[plan.id] = plan
    entries: list[wire.PlanEntry] = []
    for _, each in sorted(plans.items()):
        for entry in each.entries:
            if entry.status not in ("pending", "in_progress", "completed"):
                dialect.lose("plan-entry", each.id)
                continue
            priority = entry.priority if entry.priority in ("high", "medium", "low") else "medium"
            entries.append(
                wire.PlanEntry(content=entry.content, priority=priority, status=entry.status, meta=told(entry.meta))
            )
    meta = change.patch.meta if change.patch.meta is not UNSET else told(plan.meta)
    return [wire.Plan(entries=entries, meta=meta)]


def commands_changed(dialect: ShowingDialect, session_id: str, change: CommandsChanged) -> list[Wire]:
    commands = [command_to_wire(command) for command in change.commands if command.raw is None]
    if len(commands) < len(change.commands):
        dialect.lose("command-type", session_id)
    return [wire.AvailableCommandsUpdate(available_commands=commands, meta=change.patch.meta)]


def options_changed(dialect: ShowingDialect, session_id: str, change: OptionsChanged) -> list[Wire]:
    updates: list[Wire] = [
        wire.ConfigOptionUpdate(config_options=options_to_wire(dialect, change.options), meta=change.patch.meta)
    ]
    shown = dialect.shown(session_id)
    mode = next((option.value for option in change.options if option.category == "mode"), None)
    if shown.mode is not None and isinstance(mode, str) and mode != shown.mode:
        shown.mode = mode
        updates.append(wire.CurrentModeUpdate(current_mode_id=mode))
    return updates


def mode_changed(dialect: ShowingDialect, session_id: str, change: ModeChanged) -> list[Wire]:
    shown = dialect.shown(session_id)
    if change.mode_id == shown.mode:
        return []
    shown.mode = change.mode_id
    return [wire.CurrentModeUpdate(current_mode_id=change.mode_id, meta=change.patch.meta)]


def notice_shown(dialect: ShowingDialect, session_id: str, change: NoticeShown) -> list[Wire]:
    if not dialect.client.notices:
        dialect.lose("notice", session_id)
        return []
    return ALIKE.notice_shown(dialect, session_id, change)


def compaction_changed(dialect: ShowingDialect, session_id: str, change: CompactionChanged) -> list[Wire]:
    if not dialect.client.compaction:
        dialect.lose("compaction", change.compaction.id)
        return []
    return ALIKE.compaction_changed(dialect, session_id, change)


def state_changed(dialect: ShowingDialect, session_id: str, change: StateChanged) -> list[Wire]:
    if change.state.state not in ("idle", "running"):
        dialect.lose("state", session_id)
    if change.state.background:
        dialect.lose("background", session_id)
    return []


UPDATES_TO_WIRE: dict[type[Any], Any] = {
    **ALIKE.to_wire,
    MessageChunk: message_chunk,
    MessageChanged: message_changed,
    ToolCallChanged: tool_call_changed,
    TerminalChanged: terminal_changed,
    TerminalOutput: terminal_output,
    PlanChanged: plan_changed,
    CommandsChanged: commands_changed,
    OptionsChanged: options_changed,
    ModeChanged: mode_changed,
    NoticeShown: notice_shown,
    CompactionChanged: compaction_changed,
    StateChanged: state_changed,
}
