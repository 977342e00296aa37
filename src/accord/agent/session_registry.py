"""The sessions of an agent that are open, on whatever connections.

Law: a session is open once, with one transcript and one turn queue, however many connections subscribe. It is opened and
closed by one task at a time; whoever comes meanwhile waits for that. What becomes of it when the last connection leaves is
for the registry's policy to decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol
from weakref import WeakValueDictionary

from accord.agent.connection import AgentConnection
from accord.agent.turn_queue import TurnQueue
from accord.errors import InvalidRequest
from accord.session.requests import SessionSummary

__all__ = ["CloseAtOnce", "LastSubscriberPolicy", "SessionRegistry"]


class LastSubscriberPolicy(Protocol):
    """Decides what becomes of a session when the last connection that subscribes to it leaves."""

    def __call__(self, sessions: SessionRegistry, turns: TurnQueue, last: AgentConnection) -> Awaitable[None]:
        """Called while nobody else can open or close the session; `last` still gets its updates."""
        ...


class CloseAtOnce:
    """The session is closed, and the last connection is told what ends by that."""

    async def __call__(self, sessions: SessionRegistry, turns: TurnQueue, last: AgentConnection) -> None:
        await sessions.close(turns)


class SessionRegistry:
    """The turn queues of all open sessions. An agent may be served in several event loops, but each session only in one."""

    def __init__(self, on_last_left: LastSubscriberPolicy | None = None) -> None:
        self._on_last_left = on_last_left or CloseAtOnce()
        self._open: dict[str, TurnQueue] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, session_id: str) -> asyncio.Lock:
        """For those who open or close the session."""
        return self._locks.setdefault(session_id, asyncio.Lock())

    def find(self, session_id: str) -> TurnQueue | None:
        """The session's turn queue, if the session is open."""
        turns = self._open.get(session_id)
        if turns is None or turns.loop is asyncio.get_running_loop():
            return turns
        if turns.loop.is_closed():
            del self._open[session_id]
            return None
        raise InvalidRequest("The session is open in another thread of the agent; close it there first")

    def add(self, turns: TurnQueue) -> None:
        """The session is open from now on."""
        self._open[turns.session.id] = turns

    def summaries(self) -> list[SessionSummary]:
        """A line for each session, in the order in which they were opened."""
        return [turns.session.summary() for turns in self._open.values()]

    async def leave(self, turns: TurnQueue, connection: AgentConnection) -> None:
        """End what the connection asked for in a session, and tell it no more."""
        session = turns.session
        async with self.lock(session.id):
            if session.is_closed:
                return
            await turns.leave(connection)
            if all(each.connection is connection for each in session.stream.subscriptions):
                await self._on_last_left(self, turns, connection)
            else:
                session.stream.unsubscribe(connection)

    async def end(self, session_id: str) -> None:
        """Close a session, if it is open, for everybody."""
        async with self.lock(session_id):
            turns = self.find(session_id)
            if turns is not None:
                await self.close(turns)

    async def close(self, turns: TurnQueue) -> None:
        """Close it for everybody; for those who have its lock."""
        session = turns.session
        session.is_closed = True
        session.journal.stop_renewing()
        try:
            await turns.stop()
            await session.close()
        finally:
            self._open.pop(session.id, None)
