"""Maps session updates between the v2 draft and the session model, including v2 updates that a peer sends early."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET

from accord.dialects.all_versions.options import commands_report
from accord.dialects.all_versions.plans import entries_to_wire, plan_from_wire
from accord.dialects.all_versions.updates import tags_of
from accord.dialects.dialect import UpdatesFromWire, UpdatesToWire
from accord.dialects.display_fallback import DisplayDialect, DisplayUpdates, supported_entries, track_plan
from accord.dialects.terminal_meta import split_terminals
from accord.dialects.unset_values import map_list, meta_whole, none_if_unset, unset_if_none
from accord.dialects.v1 import updates as older
from accord.dialects.v2 import updates as newer
from accord.dialects.v2.tool_calls import capabilities_to_wire, locations_to_wire
from accord.dialects.v2_draft.sessions import COMMANDS, options_to_wire
from accord.dialects.v2_draft.tool_calls import (
    ALIKE,
    CONTENT,
    ITEMS,
    READER,
    DraftDialect,
    patch_from_wire,
    patch_to_wire,
    status_to_wire,
)
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.wire_values import Wire
from accord.session.entities import AGENT, THOUGHT, USER, ToolCall
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

__all__ = ["TAGS", "UPDATES_FROM_WIRE", "UPDATES_TO_WIRE"]

Reading: TypeAlias = Callable[[DraftDialect, Any], list[Patch]]


def newer_form(read: Reading) -> Reading:
    """For forms that v1 does not have: whoever sends one clears with null from then on."""

    def reading(dialect: DraftDialect, update: Any) -> list[Patch]:
        dialect.null_clears = True
        return read(dialect, update)

    return reading


def _pieces(role: str) -> Reading:
    def pieces(dialect: DraftDialect, update: wire.ContentChunk) -> list[Patch]:
        message_id, content = none_if_unset(update.message_id), update.content
        if isinstance(content, list):
            dialect.null_clears = True
        blocks = content if isinstance(content, list) else [content]
        return [
            MessageAppend(role=role, id=message_id, content=CONTENT.from_wire(block), meta=update.meta)
            for block in blocks
        ]

    return pieces


def _message(role: str) -> Reading:
    def message(dialect: DraftDialect, update: wire.Message) -> list[Patch]:
        content = map_list(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta, meta_replaces=True)]

    return newer_form(message)


def tool_call(dialect: DraftDialect, update: wire.ToolCall) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update, creates=True))


def tool_call_update(dialect: DraftDialect, update: wire.ToolCallUpdateVariant) -> list[Patch]:
    return split_terminals(patch_from_wire(dialect, update))


def tool_call_piece(dialect: DraftDialect, update: wire.ToolCallContentChunk) -> list[Patch]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallAppend(id=update.tool_call_id, item=item, meta=update.meta)]


def plan_update(dialect: DraftDialect, update: wire.PlanUpdate) -> list[Patch]:
    return [PlanPatch(plan=plan_from_wire(update.plan, "planId", "id"), meta=update.meta)]


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: _pieces(USER),
    wire.AgentMessageChunk: _pieces(AGENT),
    wire.AgentThoughtChunk: _pieces(THOUGHT),
    wire.UserMessage: _message(USER),
    wire.AgentMessage: _message(AGENT),
    wire.AgentThought: _message(THOUGHT),
    wire.ToolCall: tool_call,
    wire.ToolCallUpdateVariant: tool_call_update,
    wire.ToolCallContentChunk: newer_form(tool_call_piece),
    v1.Plan: older.plan,
    wire.PlanUpdate: newer_form(plan_update),
    wire.AvailableCommandsUpdate: commands_report,
    v1.CurrentModeUpdate: older.mode,
    wire.ConfigOptionUpdate: newer.options,
    v2.StateUpdate: newer_form(newer.state),
    v2.TerminalUpdate: newer_form(newer.terminal),
    v2.TerminalOutputChunk: newer_form(newer.terminal_piece),
    **ALIKE.from_wire,
}

TAGS = tags_of(UPDATES_FROM_WIRE)

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
_SHOWING = DisplayUpdates(
    ALIKE,
    ITEMS,
    options_to_wire,
    tool_call=wire.ToolCallUpdateVariant,
    options=wire.ConfigOptionUpdate,
    mode=v1.CurrentModeUpdate,
)


def message_chunk(dialect: DisplayDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    content = CONTENT.to_wire(dialect, change.content)
    return [CHUNKS[message.role](message_id=message.id, content=content, meta=change.patch.meta)]


def message_changed(dialect: DisplayDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    content = map_list(patch.content, partial(CONTENT.to_wire, dialect))
    return [MESSAGES[message.role](message_id=message.id, content=content, meta=meta_whole(patch, message))]


def tool_call_changed(dialect: DisplayDialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
    call, patch = change.call, change.patch
    shown = dialect.shown(session_id)
    shown.hold(call)
    if change.created:
        return [_new_tool_call(dialect, session_id, call, patch)]
    if not isinstance(patch, ToolCallPatch):
        items = ITEMS.to_wire(dialect, session_id, (patch.item,))
        return [wire.ToolCallContentChunk(tool_call_id=call.id, content=item, meta=patch.meta) for item in items]
    update = patch_to_wire(dialect, session_id, patch, wire.ToolCallUpdateVariant)
    update.meta = meta_whole(patch, call)
    if shown.content_told(call, anyway=patch.content is not UNSET) and update.content is UNSET:
        update.content = ITEMS.to_wire(dialect, session_id, call.content)
    return [update]


def _new_tool_call(
    dialect: DisplayDialect, session_id: str, call: ToolCall, patch: ToolCallPatch | ToolCallAppend
) -> Wire:
    """The first report says what it is called, of what kind it is and how far it is (TOOL-06)."""
    return wire.ToolCallUpdateVariant(
        tool_call_id=call.id,
        title=unset_if_none(call.title or call.name),
        name=unset_if_none(call.name),
        kind=call.kind,
        status=status_to_wire(dialect, call.id, call.status),
        content=ITEMS.to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(call.locations) if call.locations else UNSET,
        raw_input=unset_if_none(call.raw_input),
        raw_output=unset_if_none(call.raw_output),
        capabilities=capabilities_to_wire(True) if call.cancellable else UNSET,
        meta=unset_if_none(call.meta) if isinstance(patch, ToolCallPatch) else patch.meta,
    )


def plan_changed(dialect: DisplayDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    """The plan under both of its keys; where one turned into something that cannot be said, nothing is left of it."""
    plan = change.plan
    if not track_plan(dialect, session_id, plan):
        return []
    entries = entries_to_wire(v2.PlanEntry, supported_entries(dialect, plan))
    items = wire.PlanItems(id=plan.id, entries=entries, meta=unset_if_none(plan.meta))
    return [wire.PlanUpdate(plan=items, meta=change.patch.meta)]


UPDATES_TO_WIRE: UpdatesToWire = {
    **_SHOWING.to_wire,
    MessageChunk: message_chunk,
    MessageChanged: message_changed,
    ToolCallChanged: tool_call_changed,
    PlanChanged: plan_changed,
    CommandsChanged: COMMANDS.changed,
    UnknownUpdate: ALIKE.unknown_to_wire(TAGS),
}
