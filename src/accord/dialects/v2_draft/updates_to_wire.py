"""Changes as updates of the draft: messages and tool calls are patches by id, everything else is as in v1."""

from __future__ import annotations

from functools import partial

from msgspec import UNSET

from accord.dialects.absent import each, meta_whole, told
from accord.dialects.dialect import UpdatesToWire
from accord.dialects.plans import entries_to_wire
from accord.dialects.showing import ShowingUpdates, entries_to_tell, plan_is_told
from accord.dialects.shown import ShowingDialect
from accord.dialects.v2.tool_calls import capabilities_to_wire, locations_to_wire
from accord.dialects.v2_draft.content import ALIKE, CONTENT
from accord.dialects.v2_draft.options import COMMANDS, options_to_wire
from accord.dialects.v2_draft.tool_calls import ITEMS, patch_to_wire, status_to_wire
from accord.dialects.v2_draft.updates_from_wire import TAGS
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.values import Wire
from accord.session.entities import AGENT, THOUGHT, USER, ToolCall
from accord.session.updates import (
    CommandsChanged,
    MessageChanged,
    MessageChunk,
    PlanChanged,
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
_SHOWING = ShowingUpdates(
    ALIKE,
    ITEMS,
    options_to_wire,
    tool_call=wire.ToolCallUpdateVariant,
    options=wire.ConfigOptionUpdate,
    mode=v1.CurrentModeUpdate,
)


def message_chunk(dialect: ShowingDialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    content = CONTENT.to_wire(dialect, change.content)
    return [CHUNKS[message.role](message_id=message.id, content=content, meta=change.patch.meta)]


def message_changed(dialect: ShowingDialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    content = each(patch.content, partial(CONTENT.to_wire, dialect))
    return [MESSAGES[message.role](message_id=message.id, content=content, meta=meta_whole(patch, message))]


def tool_call_changed(dialect: ShowingDialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
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
    dialect: ShowingDialect, session_id: str, call: ToolCall, patch: ToolCallPatch | ToolCallPiece
) -> Wire:
    """The first report says what it is called, of what kind it is and how far it is (TOOL-06)."""
    return wire.ToolCallUpdateVariant(
        tool_call_id=call.id,
        title=told(call.title or call.name),
        name=told(call.name),
        kind=call.kind,
        status=status_to_wire(dialect, call.id, call.status),
        content=ITEMS.to_wire(dialect, session_id, call.content) if call.content else UNSET,
        locations=locations_to_wire(call.locations) if call.locations else UNSET,
        raw_input=told(call.raw_input),
        raw_output=told(call.raw_output),
        capabilities=capabilities_to_wire(True) if call.cancellable else UNSET,
        meta=told(call.meta) if isinstance(patch, ToolCallPatch) else patch.meta,
    )


def plan_changed(dialect: ShowingDialect, session_id: str, change: PlanChanged) -> list[Wire]:
    """The plan under both of its keys; where one turned into something that cannot be said, nothing is left of it."""
    plan = change.plan
    if not plan_is_told(dialect, session_id, plan):
        return []
    entries = entries_to_wire(v2.PlanEntry, entries_to_tell(dialect, plan))
    items = wire.PlanItems(id=plan.id, entries=entries, meta=told(plan.meta))
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
