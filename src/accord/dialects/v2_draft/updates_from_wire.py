"""Updates as reports: v1's, the draft's, and those of v2 that a peer may send ahead of its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.dialects.absent import known
from accord.dialects.v1 import updates_from_wire as older
from accord.dialects.v2 import updates_from_wire as newer
from accord.dialects.v2.patched import each
from accord.dialects.v2_draft.content import ALIKE, CONTENT
from accord.dialects.v2_draft.options import commands_from_wire, options_from_wire
from accord.dialects.v2_draft.tool_calls import item_from_wire, patch_from_wire
from accord.errors import Malformed
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import AGENT, THOUGHT, USER, Plan
from accord.session.updates import (
    CommandsReport,
    MessagePatch,
    MessagePiece,
    OptionsReport,
    PlanReport,
    Report,
    ToolCallPiece,
)

__all__ = ["TAGS", "UPDATES_FROM_WIRE"]


def newer_form(read: Callable[[Any, Any], list[Report]]) -> Callable[[Any, Any], list[Report]]:
    """For forms that v1 does not have: whoever sends one clears with null from then on."""

    def reading(dialect: Any, update: Any) -> list[Report]:
        dialect.null_clears = True
        return read(dialect, update)

    return reading


def _pieces(role: str) -> Any:
    def pieces(dialect: Any, update: wire.ContentChunk) -> list[Report]:
        message_id, content = known(update.message_id), update.content
        blocks = content if isinstance(content, list) else [content]
        return [
            MessagePiece(role=role, id=message_id, content=CONTENT.from_wire(block), meta=update.meta)
            for block in blocks
        ]

    return pieces


def _message(role: str) -> Any:
    def message(dialect: Any, update: wire.Message) -> list[Report]:
        content = each(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta, meta_replaces=True)]

    return newer_form(message)


def tool_call(dialect: Any, update: wire.ToolCall) -> list[Report]:
    return [patch_from_wire(dialect, update, creates=True)]


def tool_call_update(dialect: Any, update: wire.ToolCallUpdateVariant) -> list[Report]:
    return [patch_from_wire(dialect, update)]


def tool_call_piece(dialect: Any, update: wire.ToolCallContentChunk) -> list[Report]:
    item = item_from_wire(dialect, update.content)
    return [ToolCallPiece(id=update.tool_call_id, item=item, meta=update.meta)]


def plan_update(dialect: Any, update: wire.PlanUpdate) -> list[Report]:
    """A plan by its id; one of an unknown type takes the place of what that id had."""
    told: Any = update.plan
    if isinstance(told, UnknownOnWire):
        identifier = told.raw.get("planId", told.raw.get("id"))
        if not isinstance(identifier, str):
            raise Malformed("$.update.plan.planId", "required")
        plan = Plan(id=identifier, type=told.tag, raw=told.raw)
    else:
        plan = Plan(id=told.plan_id, entries=older.entries_from_wire(told.entries), meta=known(told.meta))
    return [PlanReport(plan=plan, meta=update.meta)]


def commands(dialect: Any, update: wire.AvailableCommandsUpdate) -> list[Report]:
    return [CommandsReport(commands=commands_from_wire(update.available_commands), meta=update.meta)]


def options(dialect: Any, update: wire.ConfigOptionUpdate) -> list[Report]:
    return [OptionsReport(options=options_from_wire(dialect, update.config_options), meta=update.meta)]


UPDATES_FROM_WIRE: dict[type[Any], Any] = {
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
    wire.AvailableCommandsUpdate: commands,
    v1.CurrentModeUpdate: older.mode,
    wire.ConfigOptionUpdate: options,
    v2.StateUpdate: newer_form(newer.state),
    v2.TerminalUpdate: newer_form(newer.terminal),
    v2.TerminalOutputChunk: newer_form(newer.terminal_piece),
    **ALIKE.from_wire,
}

TAGS = frozenset(kind.__struct_config__.tag for kind in UPDATES_FROM_WIRE if kind is not UnknownOnWire)
"""The updates that have a meaning here, by name."""
