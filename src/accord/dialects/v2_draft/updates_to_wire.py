"""Changes as updates of the draft: messages and tool calls are patches by id, everything else is as in v1."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from accord.dialects.absent import meta_whole, told
from accord.dialects.shown import ShowingDialect
from accord.dialects.v1.options import current_mode
from accord.dialects.v1.updates_to_wire import calls_to_tell, entries_to_tell, state_changed
from accord.dialects.v2.patched import each
from accord.dialects.v2_draft.content import ALIKE, CONTENT
from accord.dialects.v2_draft.options import commands_to_wire, options_to_wire
from accord.dialects.v2_draft.tool_calls import (
    capabilities_to_wire,
    items_to_wire,
    locations_to_wire,
    patch_to_wire,
)
from accord.dialects.v2_draft.updates_from_wire import TAGS
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.values import Wire
from accord.session.entities import AGENT, THOUGHT, USER, Terminal, ToolCall
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
    ToolCallPiece,
    UnknownUpdate,
)

__all__ = ["UPDATES_TO_WIRE"]

CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
MESSAGES: dict[str, type[wire.Message]] = {
    USER: wire.UserMessage,
    AGENT: wire.AgentMessage,
    THOUGHT: wire.AgentThought,
}


def message_chunk(dialect: ShowingDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    content = CONTENT.to_wire(change.content)
    return [CHUNKS[message.role](message_id=message.id, content=content, meta=change.patch.meta)]


def message_changed(dialect: ShowingDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    content = each(patch.content, CONTENT.to_wire)
    return [MESSAGES[message.role](message_id=message.id, content=content, meta=meta_whole(patch, message))]


def tool_call_changed(dialect: ShowingDialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
    call, patch = change.call, change.patch
    shown = dialect.shown(session_id)
    shown.hold(call)
    if change.created:
        return [_new_tool_call(dialect, session_id, call, patch)]
    if not isinstance(patch, ToolCallPatch):
        items = items_to_wire(dialect, session_id, (patch.item,))
        return [wire.ToolCallContentChunk(tool_call_id=call.id, content=item, meta=patch.meta) for item in items]
    update = patch_to_wire(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    update.meta = meta_whole(patch, call)
    if shown.content_told(call, anyway=patch.content is not UNSET) and update.content is UNSET:
        update.content = items_to_wire(dialect, session_id, call.content)
    return [update]


def _new_tool_call(
    dialect: ShowingDialect, session_id: str, call: ToolCall, patch: ToolCallPatch | ToolCallPiece
) -> Wire:
    """The first report says what it is called, of what kind it is and how far it is (TOOL-06)."""
    return wire.ToolCallUpdateVariant(
        tool_call_id=call.id,
        title=told(call.title or call.name),
        name=told(call.name),
        kind=call.kind,
        status=call.status,
        content=items_to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(call.locations) if call.locations else UNSET,
        raw_input=told(call.raw_input),
        raw_output=told(call.raw_output),
        capabilities=capabilities_to_wire(True) if call.cancellable else UNSET,
        meta=told(call.meta) if isinstance(patch, ToolCallPatch) else patch.meta,
    )


def terminal_changed(dialect: ShowingDialect, session_id: str, change: TerminalChanged) -> list[Wire]:
    return _terminal_told(dialect, session_id, change.terminal, whole=True)


def terminal_output(dialect: ShowingDialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    return _terminal_told(dialect, session_id, change.terminal, whole=False)


def _terminal_told(dialect: ShowingDialect, session_id: str, terminal: Terminal, whole: bool) -> list[Wire]:
    return [
        wire.ToolCallUpdateVariant(tool_call_id=call.id, content=items_to_wire(dialect, session_id, call.content))
        for call in calls_to_tell(dialect, session_id, terminal, whole)
    ]


def plan_changed(dialect: ShowingDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    """The plan under both of its keys; where one turned into something that cannot be said, nothing is left of it."""
    plan, plans = change.plan, dialect.shown(session_id).plans
    if plan.raw is None:
        plans[plan.id] = plan
    else:
        dialect.lose("plan-type", plan.id)
        if plans.pop(plan.id, None) is None:
            return []
    entries = [
        v2.PlanEntry(content=entry.content, priority=entry.priority, status=entry.status, meta=told(entry.meta))
        for entry in entries_to_tell(dialect, plan)
    ]
    return [
        wire.PlanUpdate(plan=wire.PlanItems(id=plan.id, entries=entries, meta=told(plan.meta)), meta=change.patch.meta)
    ]


def commands_changed(dialect: ShowingDialect, session_id: str, change: CommandsChanged) -> list[Wire]:
    commands = commands_to_wire(change.commands)
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
        updates.append(v1.CurrentModeUpdate(current_mode_id=mode))
    return updates


def mode_changed(dialect: ShowingDialect, session_id: str, change: ModeChanged) -> list[Wire]:
    updates: list[Wire] = []
    shown = dialect.shown(session_id)
    if change.mode_id != shown.mode:
        shown.mode = change.mode_id
        updates.append(v1.CurrentModeUpdate(current_mode_id=change.mode_id, meta=change.patch.meta))
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
    return ALIKE.compaction_changed(dialect, session_id, change)


def unknown_update(dialect: ShowingDialect, session_id: str, change: UnknownUpdate) -> list[Any]:
    """Told as it came, unless its name has a meaning here."""
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
