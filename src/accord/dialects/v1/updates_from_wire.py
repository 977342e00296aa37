"""v1 updates as reports."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known
from accord.dialects.dialect import Dialect
from accord.dialects.v1.content import ALIKE, CONTENT
from accord.dialects.v1.options import command_from_wire, option_from_wire
from accord.dialects.v1.tool_calls import patch_from_wire
from accord.schema import v1 as wire
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.entities import AGENT, THOUGHT, USER, Plan, PlanEntry
from accord.session.updates import (
    CommandsReport,
    MessagePiece,
    ModeReport,
    OptionsReport,
    PlanReport,
    Report,
)

__all__ = ["MAIN_PLAN", "TAGS", "UPDATES_FROM_WIRE", "entries_from_wire", "mode", "plan"]

MAIN_PLAN = "main"
"""v1 has one plan, without an id; in words it has this one."""


def _piece(role: str) -> Any:
    def piece(dialect: Dialect, update: Any) -> list[Report]:
        content = CONTENT.from_wire(update.content)
        return [MessagePiece(role=role, id=known(update.message_id), content=content, meta=update.meta)]

    return piece


def tool_call(dialect: Dialect, update: Any) -> list[Report]:
    return [patch_from_wire(dialect, update, creates=True)]


def tool_call_update(dialect: Dialect, update: Any) -> list[Report]:
    return [patch_from_wire(dialect, update)]


def entries_from_wire(entries: list[Any]) -> list[PlanEntry]:
    return [
        PlanEntry(content=entry.content, priority=entry.priority, status=entry.status, meta=known(entry.meta))
        for entry in entries
    ]


def plan(dialect: Dialect, update: wire.Plan) -> list[Report]:
    entries = entries_from_wire(update.entries)
    return [PlanReport(plan=Plan(id=MAIN_PLAN, entries=entries, meta=known(update.meta)), meta=update.meta)]


def commands(dialect: Dialect, update: wire.AvailableCommandsUpdate) -> list[Report]:
    return [CommandsReport(commands=[command_from_wire(each) for each in update.available_commands], meta=update.meta)]


def mode(dialect: Dialect, update: wire.CurrentModeUpdate) -> list[Report]:
    return [ModeReport(mode_id=update.current_mode_id, meta=update.meta)]


def options(dialect: Dialect, update: wire.ConfigOptionUpdate) -> list[Report]:
    return [OptionsReport(options=[option_from_wire(each) for each in update.config_options], meta=update.meta)]


UPDATES_FROM_WIRE: dict[type[Any], Any] = {
    wire.UserMessageChunk: _piece(USER),
    wire.AgentMessageChunk: _piece(AGENT),
    wire.AgentThoughtChunk: _piece(THOUGHT),
    wire.ToolCall: tool_call,
    wire.ToolCallUpdateVariant: tool_call_update,
    wire.Plan: plan,
    wire.AvailableCommandsUpdate: commands,
    wire.CurrentModeUpdate: mode,
    wire.ConfigOptionUpdate: options,
    **ALIKE.from_wire,
}

TAGS = frozenset(kind.__struct_config__.tag for kind in UPDATES_FROM_WIRE if kind is not UnknownOnWire)
"""The updates v1 has, by name."""
