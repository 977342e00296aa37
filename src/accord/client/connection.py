"""One live connection with an agent: its peer, the version that was agreed on, and the sessions that are open on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from accord.client.agent_requests import AgentRequests
from accord.client.callbacks import CallbackQueue, OnUpdate
from accord.client.deadlines import Deadlines
from accord.client.dispatch import Dispatcher, Extensions
from accord.client.session import Session
from accord.client.workspace.workspace import Workspace
from accord.dialects.all_versions.lifecycle import read_auth_methods
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import ProtocolVersion, accepted, offer
from accord.errors import AuthRequired, ConnectionClosed, FrameRejected
from accord.peer import FrameObserver, Limits, Peer
from accord.session.capabilities import AuthMethod, ClientCapabilities, Implementation
from accord.session.requests import AcpRequest, ForkSession, InitializeResult, LoadSession, NewSession, SessionSetup
from accord.session.type_checks import check_types
from accord.session.value import UNSET
from accord.transports.transport import Transport

__all__ = ["ClientConnection"]

_QUIET_SECONDS = 0.15


class ClientConnection:
    """From the handshake to the end; a client that has to connect again gets another one."""

    dialect: Dialect
    agent: InitializeResult

    def __init__(
        self,
        transport: Transport,
        *,
        questions: AgentRequests,
        extensions: Extensions,
        workspace: Workspace | None,
        deadlines: Deadlines,
        on_update: OnUpdate | None,
        limits: Limits | None,
        transcript_bytes: int,
        on_frame: FrameObserver | None,
        on_rejected_frame: Callable[[FrameRejected], None] | None,
    ) -> None:
        self.questions = questions
        self.extensions = extensions
        self.workspace = workspace
        self.deadlines = deadlines
        self.on_update = on_update
        self.transcript_bytes = transcript_bytes
        self.receiving = Dispatcher(self)
        self.peer = Peer(
            transport,
            self.receiving,
            limits=limits,
            on_frame=on_frame,
            on_rejected_frame=on_rejected_frame,
            on_closed=self._closed,
            on_input_end=questions.cancel_all,
        )
        self.deliveries = CallbackQueue(self.peer)
        self._killing: asyncio.Task[None] | None = None
        self._is_left = False
        self._reason: ConnectionClosed | None = None

    async def open(
        self, version: ProtocolVersion, info: Implementation, capabilities: ClientCapabilities, *, strict: bool
    ) -> None:
        """Connect and shake hands. Whatever goes wrong, nothing is left behind."""
        try:
            await self.peer.open()
            await self._initialize(version, info, capabilities, strict=strict)
        except BaseException:
            await self.aclose()
            raise

    async def _initialize(
        self, version: ProtocolVersion, info: Implementation, capabilities: ClientCapabilities, *, strict: bool
    ) -> None:
        def agree(result: Raw) -> None:
            self.dialect, self.agent = accepted(result, version, capabilities, strict)
            self.receiving.dialect = self.dialect

        offered = offer(version, info, capabilities)
        await self.peer.request("initialize", offered, deadline=self.deadlines.handshake, on_result=agree)
        self.peer.set_version_rules(
            odd_ids_allowed=self.dialect.odd_ids_allowed, batches_allowed=self.dialect.batches_allowed
        )

    def check_open(self) -> None:
        """Raises ConnectionClosed when nothing can be sent any more."""
        if self._reason is not None or not self.peer.is_open:
            raise (self._reason or ConnectionClosed("closed by this side", kind="closed_here")).again()

    def logins(self, refused: AuthRequired) -> list[AuthMethod]:
        """What the agent named when it refused, else all that it has named; those that are new to us are noted."""
        named = read_auth_methods(refused.auth_methods, self.agent.auth_methods)
        self.agent.auth_methods += [method for method in named if method not in self.agent.auth_methods]
        return named or self.agent.auth_methods

    async def ask(self, asked: AcpRequest, deadline: float | None = None) -> Any:
        """The answer, in words; ValueError for what no agent could read."""
        check_types(asked)
        method, params = self.dialect.request_to_wire(asked)
        seconds = self.deadlines.request if deadline is None else deadline
        return self.dialect.result_from_wire(asked, await self.peer.request(method, params, deadline=seconds))

    async def open_session(self, asked: NewSession | ForkSession) -> Session:
        """A session that the answer names."""

        def named(answer: SessionSetup) -> Session:
            assert answer.session_id is not UNSET
            return Session(self, answer.session_id, asked.cwd, asked.additional_directories)

        self.receiving.begin_opening()
        try:
            return await self._opened(asked, named)
        finally:
            self.receiving.end_opening()

    async def take_up_session(self, asked: Any) -> Session:
        """A session whose id we know. What is told before the answer is history (FN-62), also with a resume (FN-60).

        Agents of v1 may have answered a load before they have told it all: where no word of the agent's has come yet,
        what follows until it is quiet is history, too.
        """
        session = Session(self, asked.session_id, asked.cwd, asked.additional_directories)
        session.is_taken_up = True
        session.is_replaying = True
        session.foreground.begin_replay()
        before = self.receiving.sessions.get(session.id)
        self._add(session)
        try:
            await self._opened(asked, lambda _: session)
            if session.is_replaying:
                await session.replayed(_QUIET_SECONDS, self.deadlines.request)
        except BaseException:
            self.receiving.sessions.pop(session.id, None)
            if before is not None:
                self.receiving.sessions[session.id] = before
            raise
        session.history_told()
        if before is not None:  # nothing will be told to it any more
            before.end(lambda: ConnectionClosed("the session was taken up again", kind="session_closed"))
        return session

    async def _opened(self, asked: Any, named: Callable[[SessionSetup], Session]) -> Session:
        def opened(result: Raw) -> Session:
            answer: SessionSetup = self.dialect.result_from_wire(asked, result)
            session = named(answer)
            may_go_on = isinstance(asked, LoadSession) and self.dialect.replay_may_follow_load
            session.is_replaying = may_go_on and session.awaits_an_answer
            session.opened(answer)
            self._add(session)
            return session

        check_types(asked)
        method, params = self.dialect.request_to_wire(asked)
        return await self.peer.request(method, params, deadline=self.deadlines.request, on_result=opened)

    def _add(self, session: Session) -> None:
        if self.workspace is not None:
            self.workspace.enter(session.id, session.cwd, session.additional_directories)
        self.receiving.add(session)

    async def forget(self, session: Session) -> None:
        """The session is closed: what still comes for it is dropped."""
        session.end(lambda: ConnectionClosed("the session was closed", kind="session_closed"))
        if self.receiving.sessions.get(session.id) is session:
            del self.receiving.sessions[session.id]
            self.dialect.forget_session(session.id)
            if self.workspace is not None:
                await self.workspace.leave(session.id)

    def kill(self) -> None:
        """End the connection and the process behind it, without waiting for that (FN-17, FN-100)."""
        if self._killing is None:
            self._killing = asyncio.create_task(self.peer.aclose(), name="accord kill")

    async def aclose(self) -> None:
        """Safe to call twice, and from any task."""
        self._is_left = self._killing is None
        await self.peer.aclose()
        if self._killing is not None:
            await asyncio.wait((self._killing,))
        await self.deliveries.ended(self.peer.limits.close_grace_seconds)

    def _closed(self, reason: ConnectionClosed) -> None:
        self._reason = reason
        for session in list(self.receiving.sessions.values()):
            session.foreground.lose_all(is_left=self._is_left)
            session.end(reason.again)
