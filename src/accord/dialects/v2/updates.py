"""Maps session updates between v2 and the session model.

`_meta` is laid over the stored one by key. Where it is to take the place of all that was stored, it is cleared first, by
an update of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from accord.dialects.all_versions.options import commands_report
from accord.dialects.all_versions.plans import entries_to_wire, plan_from_wire
from accord.dialects.all_versions.sessions import tokens_from_wire, tokens_to_wire
from accord.dialects.all_versions.updates import tags_of
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.unset_values import map_list, none_if_unset, unset_if_none
from accord.dialects.v2 import terminals
from accord.dialects.v2.lifecycle import OptionsDialect
from accord.dialects.v2.options import COMMANDS, options_from_wire, options_to_wire
from accord.dialects.v2.tool_calls import ALIKE, CONTENT, READER, item_to_wire, patch_from_wire, patch_to_wire
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType, Wire
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.entities import AGENT, THOUGHT, USER, Plan, State, Work
from accord.session.updates import (
    CommandsChanged,
    CompactionChanged,
    CompactionPatch,
    EntityPatch,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    MessagePatch,
    ModeChanged,
    OptionsChanged,
    OptionsPatch,
    Patch,
    PlanChanged,
    PlanPatch,
    StateChanged,
    StatePatch,
    TerminalChanged,
    TerminalOutput,
    ToolCallAppend,
    ToolCallChanged,
    UnknownUpdate,
)

__all__ = ["TAGS", "UPDATES_FROM_WIRE", "UPDATES_TO_WIRE"]


def _message(role: str) -> Callable[[Dialect, Any], list[Patch]]:
    def message(dialect: Dialect, update: Any) -> list[Patch]:
        content = map_list(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta)]

    return message


def tool_call(dialect: Dialect, update: wire.ToolCallUpdateVariant) -> list[Patch]:
    return [patch_from_wire(dialect, update)]


def tool_call_piece(dialect: Dialect, update: wire.ToolCallContentChunk) -> list[Patch]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallAppend(id=update.tool_call_id, item=item, meta=update.meta)]


def terminal(dialect: Dialect, update: wire.TerminalUpdate) -> list[Patch]:
    return [terminals.patch_from_wire(dialect, update)]


def terminal_piece(dialect: Dialect, update: wire.TerminalOutputChunk) -> list[Patch]:
    piece = terminals.piece_from_wire(dialect, update)
    return [] if piece is None else [piece]


def plan(dialect: Dialect, update: wire.PlanUpdate) -> list[Patch]:
    return [PlanPatch(plan=plan_from_wire(update.plan, "planId"), meta=update.meta)]


def options(dialect: Dialect, update: wire.ConfigOptionUpdate) -> list[Patch]:
    return [OptionsPatch(options=options_from_wire(dialect, update.config_options), meta=update.meta)]


def state(dialect: Dialect, update: wire.StateUpdate) -> list[Patch]:
    background = none_if_unset(update.background)
    word = State(
        state=update.state,
        stop_reason=none_if_unset(update.stop_reason),
        error=_error_from_wire(none_if_unset(update.error)),
        background=None if background is None else list(map(_work_from_wire, background)),
        token_usage=tokens_from_wire(update.usage),
        meta=none_if_unset(update.meta),
        raw=_raw_of(update),
    )
    return [StatePatch(state=word, meta=update.meta)]


def _raw_of(update: wire.StateUpdate) -> dict[str, Any] | None:
    """All of a state that is not known, if there is more in it than what is understood."""
    raw = update.raw
    return None if raw is None or raw == msgspec.to_builtins(update, enc_hook=lambda it: it.__wire__()) else raw


def _error_from_wire(error: wire.Error | None) -> dict[str, Any] | None:
    if error is None:
        return None
    data = none_if_unset(error.data)
    read: dict[str, Any] = {"code": error.code, "message": error.message}
    return read if data is None else {**read, "data": data}


def _work_from_wire(work: wire.BackgroundWork) -> Work:
    match work:
        case wire.BackgroundTerminal():
            return Work(type="terminal", id=work.terminal_id, meta=none_if_unset(work.meta))
        case wire.BackgroundToolCall():
            return Work(type="tool_call", id=work.tool_call_id, meta=none_if_unset(work.meta))
        case _:
            return Work(type=work.tag, id="", raw=work.raw)


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: ALIKE.piece(USER),
    wire.AgentMessageChunk: ALIKE.piece(AGENT),
    wire.AgentThoughtChunk: ALIKE.piece(THOUGHT),
    wire.UserMessage: _message(USER),
    wire.AgentMessage: _message(AGENT),
    wire.AgentThought: _message(THOUGHT),
    wire.ToolCallUpdateVariant: tool_call,
    wire.ToolCallContentChunk: tool_call_piece,
    wire.TerminalUpdate: terminal,
    wire.TerminalOutputChunk: terminal_piece,
    wire.PlanUpdate: plan,
    wire.AvailableCommandsUpdate: commands_report,
    wire.ConfigOptionUpdate: options,
    wire.StateUpdate: state,
    **ALIKE.from_wire,
}

TAGS = tags_of(UPDATES_FROM_WIRE)

CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
MESSAGES: dict[str, type[wire.UserMessage | wire.AgentMessage | wire.AgentThought]] = {
    USER: wire.UserMessage,
    AGENT: wire.AgentMessage,
    THOUGHT: wire.AgentThought,
}
INTERNAL_ERROR = -32603


def message_chunk(dialect: Dialect, session_id: str, change: MessageChunk) -> list[Wire]:
    message = change.message
    return [
        CHUNKS[message.role](
            message_id=message.id, content=CONTENT.to_wire(dialect, change.content), meta=change.patch.meta
        )
    ]


def message_changed(dialect: Dialect, session_id: str, change: MessageChanged) -> list[Wire]:
    message, patch = change.message, change.patch
    kind = MESSAGES[message.role]
    content = map_list(patch.content, partial(CONTENT.to_wire, dialect))
    update = kind(message_id=message.id, content=content, meta=patch.meta)
    if _replaces_meta(change):
        return [kind(message_id=message.id, meta=None), update]
    return [update]


def _replaces_meta(change: Any) -> bool:
    patch: EntityPatch = change.patch
    return patch.meta_replaces and isinstance(patch.meta, dict) and not change.created


def tool_call_changed(dialect: Dialect, session_id: str, change: ToolCallChanged) -> list[Wire]:
    patch = change.patch
    if isinstance(patch, ToolCallAppend):
        content = item_to_wire(dialect, patch.item)
        return [wire.ToolCallContentChunk(tool_call_id=patch.id, content=content, meta=patch.meta)]
    update = patch_to_wire(dialect, patch, wire.ToolCallUpdateVariant)
    if _replaces_meta(change):
        return [wire.ToolCallUpdateVariant(tool_call_id=patch.id, meta=None), update]
    return [update]


def terminal_changed(dialect: Dialect, session_id: str, change: TerminalChanged) -> list[Wire]:
    update = terminals.patch_to_wire(change.patch)
    if _replaces_meta(change):
        return [wire.TerminalUpdate(terminal_id=change.patch.id, meta=None), update]
    return [update]


def terminal_output(dialect: Dialect, session_id: str, change: TerminalOutput) -> list[Wire]:
    return [terminals.piece_to_wire(change.patch)]


def plan_changed(dialect: Dialect, session_id: str, change: PlanChanged) -> list[Wire]:
    return [wire.PlanUpdate(plan=_plan_to_wire(change.plan), meta=change.patch.meta)]


def _plan_to_wire(plan: Plan) -> wire.PlanUpdateContent:
    if plan.raw is not None:
        return UnknownOnWire(plan.type, {"planId": plan.id, **plan.raw})
    entries = entries_to_wire(wire.PlanEntry, plan.entries)
    return wire.PlanItems(plan_id=plan.id, entries=entries, meta=unset_if_none(plan.meta))


def options_changed(dialect: OptionsDialect, session_id: str, change: OptionsChanged) -> list[Wire]:
    offered = dialect.offered(session_id)
    offered.options = change.options
    return [_options(dialect, session_id, change.patch.meta)]


def mode_changed(dialect: OptionsDialect, session_id: str, change: ModeChanged) -> list[Wire]:
    """All options, with the one for the modes as it is now; nothing when that was told already."""
    offered = dialect.offered(session_id)
    before = offered.complete()
    offered.modes = change.modes or offered.modes
    offered.put_mode(change.mode_id)
    if not offered.has_mode_option:
        dialect.lose("mode", session_id)
        return []
    return [] if offered.complete() == before else [_options(dialect, session_id, change.patch.meta)]


def _options(dialect: OptionsDialect, session_id: str, meta: Any) -> Wire:
    options = dialect.offered(session_id).complete()
    return wire.ConfigOptionUpdate(config_options=options_to_wire(dialect, options), meta=meta)


def info_changed(dialect: Dialect, session_id: str, change: InfoChanged) -> list[Wire]:
    updates = ALIKE.info_changed(dialect, session_id, change)
    return [wire.SessionInfoUpdate(meta=None), *updates] if _replaces_meta(change) else updates


def compaction_changed(dialect: Dialect, session_id: str, change: CompactionChanged) -> list[Wire]:
    patch = change.patch
    updates = ALIKE.compaction_changed(dialect, session_id, change)
    if type(patch) is CompactionPatch and _replaces_meta(change):
        return [wire.CompactionUpdate(compaction_id=patch.id, status=patch.status, meta=None), *updates]
    return updates


def state_changed(dialect: Dialect, session_id: str, change: StateChanged) -> list[Wire | UnknownOnWire]:
    state = change.state
    if state.raw is not None:
        return [UnknownOnWire("state_update", state.raw)]
    background = state.background
    return [
        wire.StateUpdate(
            state=state.state,
            stop_reason=unset_if_none(state.stop_reason),
            error=_error_to_wire(state),
            background=UNSET if background is None else list(map(_work_to_wire, background)),
            usage=tokens_to_wire(wire, state.token_usage),
            meta=unset_if_none(state.meta) if change.patch.meta is UNSET else change.patch.meta,
        )
    ]


def _error_to_wire(state: State) -> wire.Error | UnsetType:
    error = state.error
    if error is None:
        return UNSET
    return wire.Error(
        code=error.get("code", INTERNAL_ERROR), message=error.get("message", ""), data=error.get("data", UNSET)
    )


def _work_to_wire(work: Work) -> wire.BackgroundWork:
    if work.raw is not None:
        return UnknownOnWire(work.type, work.raw)
    if work.type == "terminal":
        return wire.BackgroundTerminal(terminal_id=work.id, meta=unset_if_none(work.meta))
    return wire.BackgroundToolCall(tool_call_id=work.id, meta=unset_if_none(work.meta))


UPDATES_TO_WIRE: UpdatesToWire = {
    **ALIKE.to_wire,
    MessageChunk: message_chunk,
    MessageChanged: message_changed,
    ToolCallChanged: tool_call_changed,
    TerminalChanged: terminal_changed,
    TerminalOutput: terminal_output,
    PlanChanged: plan_changed,
    CommandsChanged: COMMANDS.changed,
    OptionsChanged: options_changed,
    ModeChanged: mode_changed,
    InfoChanged: info_changed,
    CompactionChanged: compaction_changed,
    StateChanged: state_changed,
    UnknownUpdate: ALIKE.unknown_to_wire(TAGS),
}
