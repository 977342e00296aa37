"""Checked by pyright and mypy, never run: an editor completes what the protocol lists, and values of one's own are taken."""

# ruff: noqa: PYI051  # what is redundant for a checker is what an editor completes

from __future__ import annotations

from typing import Literal, assert_type

from accord import Agent, Turn
from accord.agent import AgentToolCall, StopReason, SyncToolCall
from accord.client.reply import Reply
from accord.session.entities import PlanEntry, State, ToolCall
from accord.session.requests import PermissionOption
from accord.session.updates import ToolCallPatch

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
Status = Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str
Reason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | str


def what_is_read_is_listed(
    call: ToolCall, opened: AgentToolCall, plain: SyncToolCall, option: PermissionOption, entry: PlanEntry
) -> None:
    assert_type(call.kind, Kind)
    assert_type(call.status, Status)
    assert_type(opened.status, Status)
    assert_type(plain.status, Status)
    assert_type(option.kind, Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str)
    assert_type(entry.status, Literal["pending", "in_progress", "completed", "cancelled"] | str)
    assert_type(entry.priority, Literal["high", "medium", "low"] | str)


async def a_reason_is_listed(reason: StopReason, reply: Reply, state: State) -> None:
    assert_type(reason, Reason)
    assert_type(reply.stop_reason, Reason | None)
    assert_type((await reply).stop_reason, Reason | None)
    assert_type(state.stop_reason, Reason | None)


async def listed_values_and_ones_own_are_taken(turn: Turn, agent: Agent, named: str) -> None:
    async with turn.tool_call("Draw", kind="_draw") as call:
        await call.update(kind="edit", status="_waiting")
        call.end("failed")
    turn.tool_call("Look", kind=named)
    await turn.send(ToolCallPatch(id="c", kind="read", status="paused"))
    await turn.allowed("May I?", options=[PermissionOption(id="y", name="Yes", kind="allow_once")])
    agent.option("x", choices=["a"], category="thought_level")
    turn.stop("_budget")
