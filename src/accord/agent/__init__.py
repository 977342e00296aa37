"""Agents: everything for writing one."""

from __future__ import annotations

from accord.agent.agent import Agent
from accord.agent.connection import AgentConnection, AgentEndpoint
from accord.agent.deadlines import TurnDeadlines
from accord.agent.definition import TurnPolicy
from accord.agent.session import AgentSession
from accord.agent.session_registry import LastSubscriberPolicy, SessionRegistry
from accord.agent.sync_turn import SyncToolCall, SyncTurn
from accord.agent.tool_calls import AgentToolCall, CommandResult
from accord.agent.turn import Turn
from accord.session.open_enums import STOP_REASONS, StopReason, ToolKind, ToolStatus

__all__ = [
    "STOP_REASONS",
    "Agent",
    "AgentConnection",
    "AgentEndpoint",
    "AgentSession",
    "AgentToolCall",
    "CommandResult",
    "LastSubscriberPolicy",
    "SessionRegistry",
    "StopReason",
    "SyncToolCall",
    "SyncTurn",
    "ToolKind",
    "ToolStatus",
    "Turn",
    "TurnDeadlines",
    "TurnPolicy",
]
