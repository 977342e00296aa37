"""Converts the session updates of v2.

`_meta` is merged into the stored one by key. Where it is to replace the stored one, that is cleared first, by an update
of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from accord.dialects.all_versions.options import commands_patch
from accord.dialects.all_versions.sessions import tokens_from_wire, tokens_to_wire
from accord.dialects.all_versions.updates import PlanConverter, update_names
from accord.dialects.dialect import Dialect, UpdatesFromWire, UpdatesToWire
from accord.dialects.unset_values import map_list, none_if_unset, unset_if_none
from accord.dialects.v2 import terminals
from accord.dialects.v2.options import COMMANDS, OPTIONS, options_to_wire
from accord.dialects.v2.session_options import OptionsDialect, SessionOptions
from accord.dialects.v2.tool_calls import CONTENT, READER, UPDATES, item_to_wire, patch_from_wire, patch_to_wire
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

_INTERNAL_ERROR = -32603
_PLANS = PlanConverter(wire.PlanEntry, "planId")


def _message_from_wire(role: str) -> Callable[[Dialect, Any], list[Patch]]:
    def message_from_wire(dialect: Dialect, update: Any) -> list[Patch]:
        content = map_list(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta)]

    return message_from_wire


def _tool_call_from_wire(dialect: Dialect, update: wire.ToolCallUpdateVariant) -> list[Patch]:
    return [patch_from_wire(dialect, update)]


def _tool_call_chunk_from_wire(dialect: Dialect, update: wire.ToolCallContentChunk) -> list[Patch]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallAppend(id=update.tool_call_id, item=item, meta=update.meta)]


def _plan_from_wire(dialect: Dialect, update: wire.PlanUpdate) -> list[Patch]:
    return [PlanPatch(plan=_PLANS.from_wire(update.plan), meta=update.meta)]


def state_from_wire(dialect: Dialect, update: wire.StateUpdate) -> list[Patch]:
    background = none_if_unset(update.background)
    state = State(
        state=update.state,
        stop_reason=none_if_unset(update.stop_reason),
        error=_error_from_wire(none_if_unset(update.error)),
        background=None if background is None else list(map(_work_from_wire, background)),
        token_usage=tokens_from_wire(update.usage),
        meta=none_if_unset(update.meta),
        raw=_raw_of(update),
    )
    return [StatePatch(state=state, meta=update.meta)]


def _raw_of(update: wire.StateUpdate) -> dict[str, Any] | None:
    """The whole of an unknown state, if it has members that are not understood."""
    raw = update.raw
    return None if raw is None or raw == msgspec.to_builtins(update, enc_hook=lambda it: it.__wire__()) else raw


def _error_from_wire(error: wire.Error | None) -> dict[str, Any] | None:
    if error is None:
        return None
    data = none_if_unset(error.data)
    members: dict[str, Any] = {"code": error.code, "message": error.message}
    return members if data is None else {**members, "data": data}


def _work_from_wire(work: wire.BackgroundWork) -> Work:
    match work:
        case wire.BackgroundTerminal():
            return Work(type="terminal", id=work.terminal_id, meta=none_if_unset(work.meta))
        case wire.BackgroundToolCall():
            return Work(type="tool_call", id=work.tool_call_id, meta=none_if_unset(work.meta))
        case _:
            return Work(type=work.tag, id="", raw=work.raw)


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: UPDATES.chunk_from_wire(USER),
    wire.AgentMessageChunk: UPDATES.chunk_from_wire(AGENT),
    wire.AgentThoughtChunk: UPDATES.chunk_from_wire(THOUGHT),
    wire.UserMessage: _message_from_wire(USER),
    wire.AgentMessage: _message_from_wire(AGENT),
    wire.AgentThought: _message_from_wire(THOUGHT),
    wire.ToolCallUpdateVariant: _tool_call_from_wire,
    wire.ToolCallContentChunk: _tool_call_chunk_from_wire,
    wire.TerminalUpdate: terminals.patch_from_wire,
    wire.TerminalOutputChunk: terminals.append_from_wire,
    wire.PlanUpdate: _plan_from_wire,
    wire.AvailableCommandsUpdate: commands_patch,
    wire.ConfigOptionUpdate: OPTIONS.patch,
    wire.StateUpdate: state_from_wire,
    **UPDATES.from_wire,
}

_CHUNKS: dict[str, type[wire.ContentChunk]] = {
    USER: wire.UserMessageChunk,
    AGENT: wire.AgentMessageChunk,
    THOUGHT: wire.AgentThoughtChunk,
}
_MESSAGES: dict[str, type[wire.UserMessage | wire.AgentMessage | wire.AgentThought]] = {
    USER: wire.UserMessage,
    AGENT: wire.AgentMessage,
    THOUGHT: wire.AgentThought,
}


def _message_chunk(dialect: Dialect, session_id: str, update: MessageChunk) -> list[Wire]:
    message, content = update.message, CONTENT.to_wire(dialect, update.content)
    return [_CHUNKS[message.role](message_id=message.id, content=content, meta=update.patch.meta)]


def _message_changed(dialect: Dialect, session_id: str, update: MessageChanged) -> list[Wire]:
    message, patch = update.message, update.patch
    wire_type = _MESSAGES[message.role]
    content = map_list(patch.content, partial(CONTENT.to_wire, dialect))
    wire_update = wire_type(message_id=message.id, content=content, meta=patch.meta)
    return [*_clear_meta(update, wire_type, message_id=message.id), wire_update]


def _clear_meta(update: Any, wire_type: Callable[..., Wire], **members: Any) -> list[Wire]:
    """The update that clears the stored `_meta`, if the patch replaces it."""
    patch: EntityPatch = update.patch
    replaces = patch.meta_replaces and isinstance(patch.meta, dict) and not update.created
    return [wire_type(meta=None, **members)] if replaces else []


def _tool_call_changed(dialect: Dialect, session_id: str, update: ToolCallChanged) -> list[Wire]:
    patch = update.patch
    if isinstance(patch, ToolCallAppend):
        content = item_to_wire(dialect, patch.item)
        return [wire.ToolCallContentChunk(tool_call_id=patch.id, content=content, meta=patch.meta)]
    cleared = _clear_meta(update, wire.ToolCallUpdateVariant, tool_call_id=patch.id)
    return [*cleared, patch_to_wire(dialect, patch, wire.ToolCallUpdateVariant)]


def _terminal_changed(dialect: Dialect, session_id: str, update: TerminalChanged) -> list[Wire]:
    cleared = _clear_meta(update, wire.TerminalUpdate, terminal_id=update.patch.id)
    return [*cleared, terminals.patch_to_wire(update.patch)]


def _terminal_output(dialect: Dialect, session_id: str, update: TerminalOutput) -> list[Wire]:
    return [terminals.append_to_wire(update.patch)]


def _plan_changed(dialect: Dialect, session_id: str, update: PlanChanged) -> list[Wire]:
    return [wire.PlanUpdate(plan=_plan_to_wire(update.plan), meta=update.patch.meta)]


def _plan_to_wire(plan: Plan) -> wire.PlanUpdateContent:
    if plan.raw is not None:
        return UnknownOnWire(plan.type, {"planId": plan.id, **plan.raw})
    entries = list(map(_PLANS.entry_to_wire, plan.entries))
    return wire.PlanItems(plan_id=plan.id, entries=entries, meta=unset_if_none(plan.meta))


def _options_changed(dialect: OptionsDialect, session_id: str, update: OptionsChanged) -> list[Wire]:
    options = dialect.session_options[session_id]
    options.options = update.options
    return [_options_to_wire(dialect, options, update.patch.meta)]


def _mode_changed(dialect: OptionsDialect, session_id: str, update: ModeChanged) -> list[Wire]:
    """All options, with the current mode; nothing when that was sent already."""
    options = dialect.session_options[session_id]
    before = options.with_mode_option()
    options.modes = update.modes or options.modes
    options.set_mode(update.mode_id)
    if not options.has_mode_option:
        dialect.record_loss("mode", session_id)
        return []
    return [] if options.with_mode_option() == before else [_options_to_wire(dialect, options, update.patch.meta)]


def _options_to_wire(dialect: Dialect, options: SessionOptions, meta: Any) -> Wire:
    return wire.ConfigOptionUpdate(config_options=options_to_wire(dialect, options.with_mode_option()), meta=meta)


def _info_changed(dialect: Dialect, session_id: str, update: InfoChanged) -> list[Wire]:
    return _clear_meta(update, wire.SessionInfoUpdate) + UPDATES.info_to_wire(dialect, session_id, update)


def _compaction_changed(dialect: Dialect, session_id: str, update: CompactionChanged) -> list[Wire]:
    patch, wire_updates = update.patch, UPDATES.compaction_to_wire(dialect, session_id, update)
    if type(patch) is not CompactionPatch:
        return wire_updates
    return _clear_meta(update, wire.CompactionUpdate, compaction_id=patch.id, status=patch.status) + wire_updates


def _state_changed(dialect: Dialect, session_id: str, update: StateChanged) -> list[Wire | UnknownOnWire]:
    state = update.state
    if state.raw is not None:
        return [UnknownOnWire("state_update", state.raw)]
    background = state.background
    return [
        wire.StateUpdate(
            state=state.state,
            stop_reason=unset_if_none(state.stop_reason),
            error=_error_to_wire(state),
            background=UNSET if background is None else list(map(_work_to_wire, background)),
            usage=tokens_to_wire(state.token_usage),
            meta=unset_if_none(state.meta) if update.patch.meta is UNSET else update.patch.meta,
        )
    ]


def _error_to_wire(state: State) -> wire.Error | UnsetType:
    error = state.error
    if error is None:
        return UNSET
    return wire.Error(
        code=error.get("code", _INTERNAL_ERROR), message=error.get("message", ""), data=error.get("data", UNSET)
    )


def _work_to_wire(work: Work) -> wire.BackgroundWork:
    if work.raw is not None:
        return UnknownOnWire(work.type, work.raw)
    if work.type == "terminal":
        return wire.BackgroundTerminal(terminal_id=work.id, meta=unset_if_none(work.meta))
    return wire.BackgroundToolCall(tool_call_id=work.id, meta=unset_if_none(work.meta))


UPDATES_TO_WIRE: UpdatesToWire = {
    **UPDATES.to_wire,
    MessageChunk: _message_chunk,
    MessageChanged: _message_changed,
    ToolCallChanged: _tool_call_changed,
    TerminalChanged: _terminal_changed,
    TerminalOutput: _terminal_output,
    PlanChanged: _plan_changed,
    CommandsChanged: COMMANDS.update_to_wire,
    OptionsChanged: _options_changed,
    ModeChanged: _mode_changed,
    InfoChanged: _info_changed,
    CompactionChanged: _compaction_changed,
    StateChanged: _state_changed,
    UnknownUpdate: UPDATES.unknown_to_wire(update_names(UPDATES_FROM_WIRE)),
}
