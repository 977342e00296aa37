"""The open sessions of an agent, on whatever connections.

Law: a session is open once, with one transcript and one turn queue, however many connections subscribe to it. It is opened
and closed by one task at a time; others wait for that. The registry's policy decides what happens to a session when the
last connection leaves it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol
from weakref import WeakValueDictionary

from accord.agent.connection import AgentEndpoint
from accord.agent.turn_queue import TurnQueue
from accord.errors import InvalidRequest
from accord.session.requests import SessionSummary


class LastSubscriberPolicy(Protocol):
    """Decides what happens to a session when the last connection that subscribes to it leaves."""

    def __call__(self, sessions: SessionRegistry, turns: TurnQueue, last: AgentEndpoint) -> Awaitable[None]:
        """Called while nobody else can open or close the session; `last` still gets its updates."""
        ...


class CloseAtOnce:
    """Closes the session; the last connection gets the updates that this causes."""

    async def __call__(self, sessions: SessionRegistry, turns: TurnQueue, last: AgentEndpoint) -> None:
        await sessions.close(turns)


class SessionRegistry:
    """The turn queues of all open sessions. An agent may be served in several event loops, each session in one of them."""

    def __init__(self, on_last_left: LastSubscriberPolicy | None = None) -> None:
        self._on_last_left = on_last_left or CloseAtOnce()
        self._open: dict[str, TurnQueue] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, session_id: str) -> asyncio.Lock:
        """Hold it while you open or close the session."""
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
        turns.publisher.is_open = True
        self._open[turns.session.id] = turns

    def summaries(self, user: str | None = None) -> list[SessionSummary]:
        """The open sessions of one user or of all, in the order in which they were opened."""
        return [_summary(turns) for turns in self._open.values() if user in (None, turns.publisher.user)]

    async def leave(self, turns: TurnQueue, endpoint: AgentEndpoint, *, is_gone: bool = False) -> None:
        """Cancel a connection's prompts in a session, and end its subscription.

        A turn of a connection that `is_gone` goes on if others subscribe to the session.
        """
        async with self.lock(turns.session.id):
            if turns.session.is_closed:
                return
            await turns.leave(endpoint, is_gone=is_gone)
            if all(each.endpoint is endpoint for each in turns.publisher.stream.subscriptions):
                await self._on_last_left(self, turns, endpoint)
            else:
                self.unsubscribe(turns, endpoint)

    def unsubscribe(self, turns: TurnQueue, endpoint: AgentEndpoint) -> None:
        """Send a session's updates to a connection no more; the session stays open."""
        turns.publisher.stream.unsubscribe(endpoint)
        turns.publisher.questions.leave(endpoint)

    async def end(self, session_id: str) -> None:
        """Close a session for every connection, if it is open."""
        async with self.lock(session_id):
            turns = self.find(session_id)
            if turns is not None:
                await self.close(turns)

    async def close(self, turns: TurnQueue) -> None:
        """Close a session for every connection; call it with the lock held."""
        try:
            await turns.close()
        finally:
            self._open.pop(turns.session.id, None)


def _summary(turns: TurnQueue) -> SessionSummary:
    session, info = turns.session, turns.session.transcript.info
    return SessionSummary(
        session_id=session.id,
        cwd=str(session.cwd),
        additional_directories=[str(directory) for directory in session.additional_directories],
        title=info.title,
        updated_at=info.updated_at,
    )
