"""The sessions that are open on one connection: how they are opened, found and closed, and updates that arrive too early.

Law: an update that arrives while a session is being opened is not lost: it is held until the response names the session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from accord.client.connection import ClientConnection
from accord.client.open_session import OpenSession
from accord.client.session import OnUpdate, Session
from accord.client.workspace.workspace import Workspace
from accord.dialects.all_versions.subagents import Subagents
from accord.dialects.chunk_fast_path import update_reader
from accord.errors import ConnectionClosed
from accord.session.requests import ForkSession, LoadSession, NewSession, ResumeSession, SessionSetup
from accord.session.updates import Patch
from accord.session.value import UNSET

log = logging.getLogger("accord.client")

HELD_BYTES = 4 * 1024 * 1024
_QUIET_SECONDS = 0.15

_OpenRequest: TypeAlias = NewSession | ForkSession | LoadSession | ResumeSession


class SessionRegistry:
    """Sessions by id. A session that a subagent announces belongs to the one that the subagent works for."""

    def __init__(
        self,
        connection: ClientConnection,
        *,
        workspace: Workspace | None,
        on_update: OnUpdate | None,
        transcript_bytes: int,
    ) -> None:
        self.connection = connection
        connection.on_closed = self._connection_closed
        self.sessions: dict[str, OpenSession] = {}
        self._handles: dict[OpenSession, Session] = {}
        self._workspace = workspace
        self._on_update = on_update
        self._transcript_bytes = transcript_bytes
        self._subagents = Subagents()
        self._opening_count = 0
        self._held: dict[str, list[tuple[Patch, int]]] = {}
        self._held_bytes = 0

    @property
    def handles(self) -> list[Session]:
        """The sessions as users hold them."""
        return [self._handles[session] for session in self.sessions.values()]

    def find(self, session_id: str) -> OpenSession | None:
        """The session, or the one that a subagent with this id works for."""
        return self.sessions.get(self._root_of(session_id))

    def update(self, session_id: str, patches: list[Patch], size: int) -> None:
        """Apply what was reported for a session or a subagent of it, or hold it while a session is being opened."""
        root_id = self._root_of(session_id)
        session = self.sessions.get(root_id)
        for patch in self._subagents.root_patches(root_id, session_id, patches):
            if session is not None:
                session.take(patch, size)
            else:
                self._hold(root_id, patch, size)

    async def open(self, request: NewSession | ForkSession) -> Session:
        """Open a session whose id the response names."""

        def create(setup: SessionSetup) -> OpenSession:
            assert setup.session_id is not UNSET
            return self._session(setup.session_id, request)

        self._opening_count += 1  # FN-01
        try:
            return self._handles[await self._request(request, create)]
        finally:
            self._opening_count -= 1
            if self._opening_count == 0:
                self._drop_held()

    async def resume(self, request: LoadSession | ResumeSession) -> Session:
        """Load or resume a session. Updates before the response are history (FN-62), also with a resume (FN-60).

        Agents of v1 may respond to a load before they have sent the whole history: where no message of the agent has
        arrived yet, what follows until it is quiet is history, too.
        """
        session = self._session(request.session_id, request)
        session.begin_replay()
        earlier = self.sessions.get(session.id)
        self._add(session)
        try:
            await self._request(request, lambda _: session)
            if session.is_replaying:
                await session.wait_replayed(_QUIET_SECONDS, self.connection.deadlines.request)
        except BaseException:
            self.sessions.pop(session.id, None)
            self._handles.pop(session, None)
            if earlier is not None:
                self.sessions[session.id] = earlier
            raise
        session.end_replay()
        if earlier is not None:  # it gets no more updates
            self._handles.pop(earlier, None)
            earlier.end(
                lambda: ConnectionClosed("the session was loaded or resumed again", kind="session_closed"),
                is_closed_here=True,
            )
        return self._handles[session]

    async def _request(self, request: _OpenRequest, session_of: Callable[[SessionSetup], OpenSession]) -> OpenSession:
        def apply(setup: SessionSetup) -> OpenSession:
            session = session_of(setup)
            may_go_on = isinstance(request, LoadSession) and self.connection.dialect.replay_may_follow_load
            session.is_replaying = may_go_on and session.awaits_agent
            session.set_up(setup)
            self._add(session)
            return session

        return await self.connection.request(request, apply=apply)

    def _session(self, id: str, request: _OpenRequest) -> OpenSession:
        directories = list(request.additional_directories)
        session = OpenSession(self.connection, id, request.cwd, directories, self._transcript_bytes)
        self._handles[session] = Session(session, self._on_update, partial(self._forget, session))
        return session

    def _add(self, session: OpenSession) -> None:
        if self._workspace is not None:
            self._workspace.enter(session.id, session.cwd, session.additional_directories)
        self.sessions[session.id] = session
        peer = self.connection.peer
        if peer.fast_path is None:  # not earlier: to make it takes some milliseconds
            peer.fast_path = update_reader(self.connection.dialect, self.sessions)
        for patch, size in self._held.pop(session.id, ()):
            self._held_bytes -= size
            session.take(patch, size)

    async def _forget(self, session: OpenSession) -> None:
        session.end(lambda: ConnectionClosed("the session was closed", kind="session_closed"), is_closed_here=True)
        self._handles.pop(session, None)
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
            self.connection.dialect.forget_session(session.id)
            if self._workspace is not None:
                await self._workspace.leave(session.id)

    def _connection_closed(self, reason: ConnectionClosed) -> None:
        for session in list(self.sessions.values()):
            session.foreground.close_all(is_closed_here=self.connection.is_closed_here)
            session.end(reason.again)

    def _root_of(self, session_id: str) -> str:
        return session_id if session_id in self.sessions else self._subagents.root_of(session_id)

    def _hold(self, session_id: str, patch: Patch, size: int) -> None:
        if self._opening_count == 0 or self._held_bytes + size > HELD_BYTES:  # AMB-40
            self._warn("dropped an update of a session that is not open here: %s", repr(session_id[:100]))
            return
        self._held_bytes += size
        self._held.setdefault(session_id, []).append((patch, size))

    def _drop_held(self) -> None:
        for session_id in self._held:
            self._warn("dropped the updates of a session that was never opened: %s", repr(session_id[:100]))
        self._held.clear()
        self._held_bytes = 0

    def _warn(self, text: str, *arguments: object) -> None:
        self.connection.peer.limited_log.warning(log, text, *arguments)
