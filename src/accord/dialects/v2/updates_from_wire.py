"""v2 updates as reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from accord.dialects.absent import each, known
from accord.dialects.alike import tags_of
from accord.dialects.commands import commands_report
from accord.dialects.dialect import Dialect, UpdatesFromWire
from accord.dialects.plans import plan_from_wire
from accord.dialects.sessions import tokens_from_wire
from accord.dialects.v2 import terminals
from accord.dialects.v2.content import ALIKE, CONTENT
from accord.dialects.v2.options import options_from_wire
from accord.dialects.v2.tool_calls import READER, patch_from_wire
from accord.schema import v2 as wire
from accord.session.entities import AGENT, THOUGHT, USER, State, Work
from accord.session.updates import (
    MessagePatch,
    OptionsReport,
    PlanReport,
    Report,
    StateReport,
    ToolCallPiece,
)

__all__ = ["TAGS", "UPDATES_FROM_WIRE"]


def _message(role: str) -> Callable[[Dialect, Any], list[Report]]:
    def message(dialect: Dialect, update: Any) -> list[Report]:
        content = each(update.content, CONTENT.from_wire)
        return [MessagePatch(role=role, id=update.message_id, content=content, meta=update.meta)]

    return message


def tool_call(dialect: Dialect, update: wire.ToolCallUpdateVariant) -> list[Report]:
    return [patch_from_wire(dialect, update)]


def tool_call_piece(dialect: Dialect, update: wire.ToolCallContentChunk) -> list[Report]:
    item = READER.from_wire(dialect, update.content)
    return [ToolCallPiece(id=update.tool_call_id, item=item, meta=update.meta)]


def terminal(dialect: Dialect, update: wire.TerminalUpdate) -> list[Report]:
    return [terminals.patch_from_wire(dialect, update)]


def terminal_piece(dialect: Dialect, update: wire.TerminalOutputChunk) -> list[Report]:
    piece = terminals.piece_from_wire(dialect, update)
    return [] if piece is None else [piece]


def plan(dialect: Dialect, update: wire.PlanUpdate) -> list[Report]:
    return [PlanReport(plan=plan_from_wire(update.plan, "planId"), meta=update.meta)]


def options(dialect: Dialect, update: wire.ConfigOptionUpdate) -> list[Report]:
    return [OptionsReport(options=options_from_wire(dialect, update.config_options), meta=update.meta)]


def state(dialect: Dialect, update: wire.StateUpdate) -> list[Report]:
    background = known(update.background)
    word = State(
        state=update.state,
        stop_reason=known(update.stop_reason),
        error=_error_from_wire(known(update.error)),
        background=None if background is None else list(map(_work_from_wire, background)),
        token_usage=tokens_from_wire(update.usage),
        meta=known(update.meta),
        raw=_raw_of(update),
    )
    return [StateReport(state=word, meta=update.meta)]


def _raw_of(update: wire.StateUpdate) -> dict[str, Any] | None:
    """All of a state that is not known, if there is more in it than what is understood."""
    raw = update.raw
    return None if raw is None or raw == msgspec.to_builtins(update, enc_hook=lambda it: it.__wire__()) else raw


def _error_from_wire(error: wire.Error | None) -> dict[str, Any] | None:
    if error is None:
        return None
    data = known(error.data)
    read: dict[str, Any] = {"code": error.code, "message": error.message}
    return read if data is None else {**read, "data": data}


def _work_from_wire(work: wire.BackgroundWork) -> Work:
    match work:
        case wire.BackgroundTerminal():
            return Work(type="terminal", id=work.terminal_id, meta=known(work.meta))
        case wire.BackgroundToolCall():
            return Work(type="tool_call", id=work.tool_call_id, meta=known(work.meta))
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
