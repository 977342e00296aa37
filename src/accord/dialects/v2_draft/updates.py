"""Converts the session updates of the draft, including updates of v2 that a peer sends early."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET

from accord.dialects.all_versions.options import commands_patch
from accord.dialects.all_versions.updates import PlanConverter, supported_entries, update_names
from accord.dialects.dialect import UpdatesFromWire, UpdatesToWire
from accord.dialects.display_fallback import DisplayUpdates
from accord.dialects.display_state import DisplayDialect
from accord.dialects.terminal_meta import split_terminals
from accord.dialects.unset_values import map_list, none_if_unset, unset_if_none, whole_meta
from accord.dialects.v1 import updates as v1_updates
from accord.dialects.v2 import terminals
from accord.dialects.v2.options import OPTIONS
from accord.dialects.v2.updates import state_from_wire
from accord.dialects.v2_draft.sessions import COMMANDS, options_to_wire
from accord.dialects.v2_draft.tool_calls import (
    CONTENT,
    ITEMS,
    READER,
    UPDATES,
    DraftDialect,
    new_tool_call,
    patch_from_wire,
    patch_to_wire,
)
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.wire_values import Wire
from accord.session.entities import AGENT, THOUGHT, USER
from accord.session.updates import (
    CommandsChanged,
    MessageAppend,
    MessageChanged,
    MessageChunk,
    MessagePatch,
    Patch,
    PlanChanged,
    PlanPatch,
    ToolCallAppend,
    ToolCallChanged,
    ToolCallPatch,
    UnknownUpdate,
)

UpdateReader: TypeAlias = Callable[[DraftDialect, Any], list[Patch]]

_PLANS = PlanConverter(v2.PlanEntry, "planId", "id")


def _new_shape(read: UpdateReader) -> UpdateReader:
    """For shapes that v1 does not have: null of a peer that sends one clears from then on."""

    def from_wire(dialect: DraftDialect, update: Any) -> list[Patch]:
        dialect.null_clears = True
        return read(dialect, update)

    return from_wire


def _chunks_from_wire(role: str) -> UpdateReader:
    def from_wire(dialect: DraftDialect, update: wire.ContentChunk) -> list[Patch]:
        message_id, content = none_if_unset(update.message_id), update.content
        if isinstance(content, list):
            dialect.null_clears = True
        blocks = content if isinstance(content, list) else [content]
        return [
            MessageAppend(role=role, id=message_id, content=CONTENT.from_wire(block), meta=update.meta)
            for block in blocks
        ]

    return from_wire


def _message_from_wire(role: str) -> UpdateReader:
    def from_wire(dialect: DraftDialect, update: wire.Message) -> list[Patch]:
        content = map_list(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta, meta_replaces=True)]

    return _new_shape(from_wire)


def _tool_call_from_wire(dialect: DraftDialect, update: wire.ToolCall) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update, creates=True))


def _tool_call_update_from_wire(dialect: DraftDialect, update: wire.ToolCallUpdateVariant) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update))


def _tool_call_chunk_from_wire(dialect: DraftDialect, update: wire.ToolCallContentChunk) -> list[Patch]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallAppend(id=update.tool_call_id, item=item, meta=update.meta)]


def _plan_from_wire(dialect: DraftDialect, update: wire.PlanUpdate) -> list[Patch]:
    return [PlanPatch(plan=_PLANS.from_wire(update.plan), meta=update.meta)]


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: _chunks_from_wire(USER),
    wire.AgentMessageChunk: _chunks_from_wire(AGENT),
    wire.AgentThoughtChunk: _chunks_from_wire(THOUGHT),
    wire.UserMessage: _message_from_wire(USER),
    wire.AgentMessage: _message_from_wire(AGENT),
    wire.AgentThought: _message_from_wire(THOUGHT),
    wire.ToolCall: _tool_call_from_wire,
    wire.ToolCallUpdateVariant: _tool_call_update_from_wire,
    wire.ToolCallContentChunk: _new_shape(_tool_call_chunk_from_wire),
    v1.Plan: v1_updates.plan_from_wire,
    wire.PlanUpdate: _new_shape(_plan_from_wire),
    wire.AvailableCommandsUpdate: commands_patch,
    v1.CurrentModeUpdate: v1_updates.mode_from_wire,
    wire.ConfigOptionUpdate: OPTIONS.patch,
    v2.StateUpdate: _new_shape(state_from_wire),
    v2.TerminalUpdate: _new_shape(terminals.patch_from_wire),
    v2.TerminalOutputChunk: _new_shape(terminals.append_from_wire),
    **UPDATES.from_wire,
}

_CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
_MESSAGES: dict[str, type[wire.Message]] = {
    USER: wire.UserMessage,
    AGENT: wire.AgentMessage,
    THOUGHT: wire.AgentThought,
}
_DISPLAY = DisplayUpdates(
    UPDATES,
    ITEMS,
    options_to_wire,
    tool_call=wire.ToolCallUpdateVariant,
    options=wire.ConfigOptionUpdate,
    mode=v1.CurrentModeUpdate,
)


def _message_chunk(dialect: DisplayDialect, session_id: str, update: MessageChunk) -> list[Wire]:
    message, content = update.message, CONTENT.to_wire(dialect, update.content)
    return [_CHUNKS[message.role](message_id=message.id, content=content, meta=update.patch.meta)]


def _message_changed(dialect: DisplayDialect, session_id: str, update: MessageChanged) -> list[Wire]:
    message, patch = update.message, update.patch
    content = map_list(patch.content, partial(CONTENT.to_wire, dialect))
    return [_MESSAGES[message.role](message_id=message.id, content=content, meta=whole_meta(patch, message))]


def _tool_call_changed(dialect: DisplayDialect, session_id: str, update: ToolCallChanged) -> list[Wire]:
    call, patch = update.call, update.patch
    display = dialect.displays[session_id]
    display.track_call(call)
    if update.created:
        return [new_tool_call(dialect, session_id, call, patch)]
    if not isinstance(patch, ToolCallPatch):
        items = ITEMS.to_wire(dialect, session_id, (patch.item,))
        return [wire.ToolCallContentChunk(tool_call_id=call.id, content=item, meta=patch.meta) for item in items]
    wire_update = patch_to_wire(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    wire_update.meta = whole_meta(patch, call)
    send_content = display.send_content_now(call, has_content=patch.content is not UNSET)
    if send_content and wire_update.content is UNSET:
        wire_update.content = ITEMS.to_wire(dialect, session_id, call.content)
    return [wire_update]


def _plan_changed(dialect: DisplayDialect, session_id: str, update: PlanChanged) -> list[Wire]:
    """The plan under both of its ids; one whose type became unknown is sent empty."""
    plan = update.plan
    if not dialect.track_plan(session_id, plan):
        return []
    entries = list(map(_PLANS.entry_to_wire, supported_entries(dialect, plan)))
    items = wire.PlanItems(id=plan.id, entries=entries, meta=unset_if_none(plan.meta))
    return [wire.PlanUpdate(plan=items, meta=update.patch.meta)]


UPDATES_TO_WIRE: UpdatesToWire = {
    **_DISPLAY.to_wire,
    MessageChunk: _message_chunk,
    MessageChanged: _message_changed,
    ToolCallChanged: _tool_call_changed,
    PlanChanged: _plan_changed,
    CommandsChanged: COMMANDS.update_to_wire,
    UnknownUpdate: UPDATES.unknown_to_wire(update_names(UPDATES_FROM_WIRE)),
}
