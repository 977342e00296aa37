"""v1 updates as reports."""

from __future__ import annotations

from accord.dialects.absent import known
from accord.dialects.alike import tags_of
from accord.dialects.commands import commands_report
from accord.dialects.dialect import Dialect, UpdatesFromWire
from accord.dialects.plans import entries_from_wire
from accord.dialects.terminal_meta import reports_with_terminals
from accord.dialects.v1.content import ALIKE
from accord.dialects.v1.options import options_from_wire
from accord.dialects.v1.tool_calls import patch_from_wire
from accord.schema import v1 as wire
from accord.session.entities import AGENT, THOUGHT, USER, Plan
from accord.session.updates import ModeReport, OptionsReport, PlanReport, Report

__all__ = ["MAIN_PLAN", "TAGS", "UPDATES_FROM_WIRE", "mode", "plan"]

MAIN_PLAN = "main"
"""v1 has one plan, without an id; in words it has this one."""


def tool_call(dialect: Dialect, update: wire.ToolCall) -> list[Report]:
    return reports_with_terminals(patch_from_wire(dialect, update, creates=True))


def tool_call_update(dialect: Dialect, update: wire.ToolCallUpdate) -> list[Report]:
    return reports_with_terminals(patch_from_wire(dialect, update))


def plan(dialect: Dialect, update: wire.Plan) -> list[Report]:
    entries = entries_from_wire(update.entries)
    return [PlanReport(plan=Plan(id=MAIN_PLAN, entries=entries, meta=known(update.meta)), meta=update.meta)]


def mode(dialect: Dialect, update: wire.CurrentModeUpdate) -> list[Report]:
    return [ModeReport(mode_id=update.current_mode_id, meta=update.meta)]


def options(dialect: Dialect, update: wire.ConfigOptionUpdate) -> list[Report]:
    return [OptionsReport(options=options_from_wire(dialect, update.config_options), meta=update.meta)]


UPDATES_FROM_WIRE: UpdatesFromWire = {
    wire.UserMessageChunk: ALIKE.piece(USER),
    wire.AgentMessageChunk: ALIKE.piece(AGENT),
    wire.AgentThoughtChunk: ALIKE.piece(THOUGHT),
    wire.ToolCall: tool_call,
    wire.ToolCallUpdateVariant: tool_call_update,
    wire.Plan: plan,
    wire.AvailableCommandsUpdate: commands_report,
    wire.CurrentModeUpdate: mode,
    wire.ConfigOptionUpdate: options,
    **ALIKE.from_wire,
}

TAGS = tags_of(UPDATES_FROM_WIRE)
