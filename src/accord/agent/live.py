"""The sessions of an agent that are open, on whatever connections.

Law: a session is open once, with one transcript and one engine, however many connections listen. It is opened and closed
by one task at a time; whoever comes meanwhile waits for that. The last connection that leaves closes it.
"""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakValueDictionary

from accord.agent.connected_client import ConnectedClient
from accord.agent.engine import Engine
from accord.agent.sessions import Session
from accord.errors import InvalidRequest, RequestFailed, StoreFailed
from accord.session.requests import SessionSummary

__all__ = ["Live", "LiveSessions"]

log = logging.getLogger("accord.agent")


class Live:
    """An open session and who runs its turns."""

    def __init__(self, session: Session, engine: Engine) -> None:
        self.session = session
        self.engine = engine
        self.loop = asyncio.get_running_loop()
        self.is_over = False
        session.on_lost = engine.fail
        lease = None if session.claim is None else session.claim.lease
        self._renewal = None if lease is None else asyncio.create_task(self._renew(lease / 3))

    async def end(self) -> None:
        """Close it, for everybody."""
        self.is_over = True
        if self._renewal is not None:
            self._renewal.cancel()
        await self.engine.stop()
        await self.session.background.stop()
        for listener in self.session.listeners:
            listener.client.dialect.forget_session(self.session.id)
        self.session.listeners = []
        await self.session.release()

    async def _renew(self, seconds: float) -> None:
        """Keep the claim; a turn that tells nothing learns by this that another process has taken the session over."""
        while self.session.lost is None:
            await asyncio.sleep(seconds)
            try:
                await self.session.renew()
            except (RequestFailed, StoreFailed) as error:
                log.warning("the claim of the session %s was not renewed: %s", self.session.id, error)


class LiveSessions:
    """All that are open. An agent may be served in several event loops, but each session only in one."""

    def __init__(self) -> None:
        self._live: dict[str, Live] = {}
        self._turnstiles: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turnstile(self, session_id: str) -> asyncio.Lock:
        """For those who open or close the session."""
        return self._turnstiles.setdefault(session_id, asyncio.Lock())

    def find(self, session_id: str) -> Live | None:
        """The session, if it is open."""
        live = self._live.get(session_id)
        if live is None or live.loop is asyncio.get_running_loop():
            return live
        if live.loop.is_closed():
            del self._live[session_id]
            return None
        raise InvalidRequest("The session is open in another thread of the agent; close it there first")

    def add(self, live: Live) -> None:
        """It is open from now on."""
        self._live[live.session.id] = live

    def summaries(self) -> list[SessionSummary]:
        """A line for each, in the order in which they were opened."""
        return [live.session.summary() for live in self._live.values()]

    async def leave(self, live: Live, client: ConnectedClient) -> None:
        """End what the client asked for in a session, and tell it no more."""
        session = live.session
        async with self.turnstile(session.id):
            if live.is_over:
                return
            await live.engine.leave(client)
            if all(listener.client is client for listener in session.listeners):
                await self.close(live)
            else:
                session.detach(client)
                client.dialect.forget_session(session.id)

    async def end(self, session_id: str) -> None:
        """Close a session, if it is open, for everybody."""
        async with self.turnstile(session_id):
            live = self.find(session_id)
            if live is not None:
                await self.close(live)

    async def close(self, live: Live) -> None:
        """Close it for everybody; for those who have passed the turnstile."""
        try:
            await live.end()
        finally:
            self._live.pop(live.session.id, None)
