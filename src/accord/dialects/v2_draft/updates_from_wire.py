"""Updates as reports: v1's, the draft's, and those of v2 that a peer may send ahead of its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from accord.dialects.absent import each, known
from accord.dialects.alike import tags_of
from accord.dialects.commands import commands_report
from accord.dialects.dialect import UpdatesFromWire
from accord.dialects.plans import plan_from_wire
from accord.dialects.terminal_meta import reports_with_terminals
from accord.dialects.v1 import updates_from_wire as older
from accord.dialects.v2 import updates_from_wire as newer
from accord.dialects.v2_draft.clearing import ClearingDialect
from accord.dialects.v2_draft.content import ALIKE, CONTENT
from accord.dialects.v2_draft.tool_calls import READER, patch_from_wire
from accord.schema import v1, v2
from accord.schema import v2_draft as wire
from accord.session.entities import AGENT, THOUGHT, USER
from accord.session.updates import MessagePatch, MessagePiece, PlanReport, Report, ToolCallPiece

__all__ = ["TAGS", "UPDATES_FROM_WIRE"]


Reading: TypeAlias = Callable[[ClearingDialect, Any], list[Report]]


def newer_form(read: Reading) -> Reading:
    """For forms that v1 does not have: whoever sends one clears with null from then on."""

    def reading(dialect: ClearingDialect, update: Any) -> list[Report]:
        dialect.null_clears = True
        return read(dialect, update)

    return reading


def _pieces(role: str) -> Reading:
    def pieces(dialect: ClearingDialect, update: wire.ContentChunk) -> list[Report]:
        message_id, content = known(update.message_id), update.content
        if isinstance(content, list):
            dialect.null_clears = True
        blocks = content if isinstance(content, list) else [content]
        return [
            MessagePiece(role=role, id=message_id, content=CONTENT.from_wire(block), meta=update.meta)
            for block in blocks
        ]

    return pieces


def _message(role: str) -> Reading:
    def message(dialect: ClearingDialect, update: wire.Message) -> list[Report]:
        content = each(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta, meta_replaces=True)]

    return newer_form(message)


def tool_call(dialect: ClearingDialect, update: wire.ToolCall) -> list[Report]:
    return reports_with_terminals(patch_from_wire(dialect, update, creates=True))


def tool_call_update(dialect: ClearingDialect, update: wire.ToolCallUpdateVariant) -> list[Report]:
    return reports_with_terminals(patch_from_wire(dialect, update))


def tool_call_piece(dialect: ClearingDialect, update: wire.ToolCallContentChunk) -> list[Report]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallPiece(id=update.tool_call_id, item=item, meta=update.meta)]


def plan_update(dialect: ClearingDialect, update: wire.PlanUpdate) -> list[Report]:
    return [PlanReport(plan=plan_from_wire(update.plan, "planId", "id"), meta=update.meta)]


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
