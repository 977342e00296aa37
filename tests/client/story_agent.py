"""An agent in memory that speaks every version well, and does with a prompt what a test says."""

from __future__ import annotations

import asyncio

from accord.transports.memory import joined
from accord.transports.transport import Transport
from tests.conversations.agent_side import AgentSide, TakeTurn

__all__ = ["StoryAgent"]


class StoryAgent:
    """A target for `Client`."""

    side: AgentSide

    def __init__(self, take_turn: TakeTurn) -> None:
        self._take_turn = take_turn

    def connect(self) -> Transport:
        ours, theirs = joined()
        self.side = AgentSide(theirs, self._take_turn)
        self._opening = asyncio.ensure_future(self.side.peer.open())
        return ours
