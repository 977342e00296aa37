"""Changes as v1 updates. v1 has no patches of messages, no display terminals and no states: see the loss table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.dialects.absent import meta_whole, told
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.content import ALIKE, block_to_wire, note_icons
from accord.dialects.v1.options import command_to_wire, current_mode, options_to_wire
from accord.dialects.v1.tool_calls import items_to_wire, locations_to_wire, status_to_wire
from accord.dialects.v1.updates_from_wire import TAGS
from accord.schema import v1 as wire
from accord.schema.values import UNSET, Wire
from accord.session.entities import AGENT, OTHER, PENDING, THOUGHT, USER, Plan, PlanEntry, Terminal, ToolCall
from accord.session.updates import (
    CommandsChanged,
    CompactionChanged,
    CompactionPiece,
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
    ToolCallPiece,
    UnknownUpdate,
)

__all__ = ["UPDATES_TO_WIRE", "calls_to_tell", "entries_to_tell", "patched"]

CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}


def message_chunk(dialect: ShowingDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    content = block_to_wire(dialect, change.content)
    return [CHUNKS[message.role](content=content, message_id=message.id, meta=change.patch.meta)]


def message_changed(dialect: ShowingDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    if change.created or change.added is not None:
        blocks = message.content if change.created else change.added or []
        chunk = CHUNKS[message.role]
        updates: list[Wire] = [
            chunk(content=block_to_wire(dialect, block), message_id=message.id, meta=patch.meta) for block in blocks
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
        shown.content_told(call, anyway=True)
        return [_new_tool_call(dialect, session_id, call, patch)]
    if type(patch) is not ToolCallPatch:
        if not shown.piece_told(call):
            return []
        content = items_to_wire(dialect, session_id, call.content)
        return [wire.ToolCallUpdateVariant(tool_call_id=call.id, content=content, meta=patch.meta)]
    update = patched(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    if update.meta is not UNSET:
        update.meta = meta_whole(patch, call)
    if shown.content_told(call, anyway=patch.content is not UNSET) and update.content is UNSET:
        update.content = items_to_wire(dialect, session_id, call.content)
    return [update]


def _new_tool_call(
    dialect: ShowingDialect, session_id: str, call: ToolCall, patch: ToolCallPatch | ToolCallPiece
) -> Wire:
    if call.cancellable:
        dialect.lose("cancellable", call.id)
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
        meta=told(call.meta) if type(patch) is ToolCallPatch else patch.meta,
    )


def patched(
    dialect: ShowingDialect, session_id: str, patch: ToolCallPatch, to: type[wire.ToolCallUpdate]
) -> wire.ToolCallUpdate:
    """A patch of a tool call; what it clears is set to the value that says nothing, since null changes nothing."""
    if patch.name is None or patch.raw_input is None or patch.raw_output is None:
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
    if change.patch.cancellable:
        dialect.lose("cancellable", change.terminal.id)
    return _terminal_told(dialect, session_id, change.terminal, whole=True)


def terminal_output(dialect: ShowingDialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    return _terminal_told(dialect, session_id, change.terminal, whole=False)


def _terminal_told(dialect: ShowingDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Wire]:
    return [
        wire.ToolCallUpdateVariant(tool_call_id=call.id, content=items_to_wire(dialect, session_id, call.content))
        for call in calls_to_tell(dialect, session_id, terminal, whole)
    ]


def calls_to_tell(dialect: ShowingDialect, session_id: str, terminal: Terminal, whole: bool) -> list[ToolCall]:
    """The tool calls in which a display terminal has to be shown anew, as text."""
    shown = dialect.shown(session_id)
    if terminal.id not in shown.terminals:
        dialect.lose("display-terminal", terminal.id)
    shown.keep(terminal)
    return shown.calls_with(terminal.id) if shown.output_told(terminal, whole) else []


def plan_changed(dialect: ShowingDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    plan = change.plan
    plans = dialect.shown(session_id).plans
    if plan.raw is not None:
        dialect.lose("plan-type", plan.id)
        if plans.pop(plan.id, None) is None:
            return []
    else:
        if plans and plan.id not in plans:
            dialect.lose("several-plans", plan.id)
        plans[plan.id] = plan
    entries: list[wire.PlanEntry] = []
    for _, each in sorted(plans.items()):
        for entry in entries_to_tell(dialect, each):
            priority = entry.priority
            if priority not in ("high", "medium", "low"):
                dialect.lose("plan-priority", each.id)
                priority = "medium"
            entries.append(
                wire.PlanEntry(content=entry.content, priority=priority, status=entry.status, meta=told(entry.meta))
            )
    meta = change.patch.meta if change.patch.meta is not UNSET else told(plan.meta)
    return [wire.Plan(entries=entries, meta=meta)]


def entries_to_tell(dialect: ShowingDialect, plan: Plan) -> Iterator[PlanEntry]:
    """The entries that v1 and the draft have a status for."""
    for entry in plan.entries:
        if entry.status in ("pending", "in_progress", "completed"):
            yield entry
        else:
            dialect.lose("plan-entry", plan.id)


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
    shown.options = change.options
    mode = current_mode(change.options)
    if shown.mode is not None and mode is not None and mode != shown.mode:
        shown.mode = mode
        updates.append(wire.CurrentModeUpdate(current_mode_id=mode))
    return updates


def mode_changed(dialect: ShowingDialect, session_id: str, change: ModeChanged) -> list[Wire]:
    updates: list[Wire] = []
    shown = dialect.shown(session_id)
    if change.mode_id != shown.mode:
        shown.mode = change.mode_id
        updates.append(wire.CurrentModeUpdate(current_mode_id=change.mode_id, meta=change.patch.meta))
    if shown.mode_option_lags():
        updates.append(wire.ConfigOptionUpdate(config_options=options_to_wire(dialect, shown.options)))
    return updates


def notice_shown(dialect: ShowingDialect, session_id: str, change: NoticeShown) -> list[Wire]:
    if not dialect.client.notices:
        dialect.lose("notice", session_id)
        return []
    return ALIKE.notice_shown(dialect, session_id, change)


def compaction_changed(dialect: ShowingDialect, session_id: str, change: CompactionChanged) -> list[Wire]:
    if not dialect.client.compaction:
        dialect.lose("compaction", change.compaction.id)
        return []
    patch = change.patch
    note_icons(dialect, (patch.content,) if isinstance(patch, CompactionPiece) else patch.summary or ())
    return ALIKE.compaction_changed(dialect, session_id, change)


def state_changed(dialect: ShowingDialect, session_id: str, change: StateChanged) -> list[Wire]:
    if change.state.state not in ("idle", "running"):
        dialect.lose("state", session_id)
    if change.state.background:
        dialect.lose("background", session_id)
    return []


def unknown_update(dialect: ShowingDialect, session_id: str, change: UnknownUpdate) -> list[Any]:
    """Told as it came, unless v1 has a meaning of its own for the name."""
    if change.patch.tag in TAGS:
        dialect.lose("update-type", change.patch.tag)
        return []
    return ALIKE.unknown_update(dialect, session_id, change)


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
    UnknownUpdate: unknown_update,
}
