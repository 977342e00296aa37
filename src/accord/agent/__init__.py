"""Write an agent."""

from __future__ import annotations

from accord.agent.app import Agent
from accord.agent.connected_client import ConnectedClient
from accord.agent.policy import Policy
from accord.agent.ran import Ran
from accord.agent.sessions import Session
from accord.agent.syncing import SyncToolCall, SyncTurn
from accord.agent.tool_calls import OpenToolCall
from accord.agent.turn import Turn
from accord.session.vocabulary import STOP_REASONS, StopReason, ToolKind, ToolStatus

__all__ = [
    "STOP_REASONS",
    "Agent",
    "ConnectedClient",
    "OpenToolCall",
    "Policy",
    "Ran",
    "Session",
    "StopReason",
    "SyncToolCall",
    "SyncTurn",
    "ToolKind",
    "ToolStatus",
    "Turn",
]
