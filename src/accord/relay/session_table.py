"""The sessions of all connections, and the processes that have them open.

Laws:

- A session is open in one process, however many clients are attached to it. To a user, sessions of other users do not exist.
- A process that has nothing to do for a while is ended, if another one can open its sessions again. Until then, and for an
  agent that can't, a session outlives its last client by the same time, and a turn always ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Raw, UnsetType

from accord.errors.local_errors import LimitReached
from accord.jsonrpc.error_codes import METHOD_NOT_FOUND
from accord.relay.agent_process import AgentProcess
from accord.relay.client_end import CANCEL, ClientEnd
from accord.relay.envelope import (
    Envelope,
    encode,
    error_response,
    read_members,
)
from accord.relay.handshake import Handshake
from accord.relay.hosted_session import HostedSession
from accord.relay.process_pool import ProcessPool, RelayLimits, Step
from accord.relay.session_records import RecordBudget, SessionOwners, SessionRecord
from accord.relay.status import Totals
from accord.transports.transport import Transport

Audit = Callable[..., None]
"""Called with an event, a client, a session's id or None, and facts."""


class Opening:
    """A request under way that opens a session which has no id yet."""

    def __init__(self, client: ClientEnd, handshake: Handshake, params: Raw | UnsetType) -> None:
        self.client = client
        self.handshake = handshake
        self.params = params


class SessionTable:
    """Open sessions by their id, and who owns which session."""

    def __init__(
        self, connect: Callable[[], Transport], limits: RelayLimits, audit: Audit, owners: SessionOwners
    ) -> None:
        self.limits = limits
        self.totals = Totals()
        self.pool = ProcessPool(connect, self, limits, self.totals)
        self.pool.make_room = self._make_room
        self.audit = audit
        self.sessions: list[HostedSession] = []
        self._by_id: dict[str, HostedSession] = {}
        self._owners = owners
        self._budget = RecordBudget(limits.records_bytes)
        self._openings: dict[AgentProcess, list[Opening]] = {}
        self._homes: dict[AgentProcess, ClientEnd] = {}

    def find(self, session_id: str) -> HostedSession | None:
        return self._by_id.get(session_id)

    def is_foreign(self, session_id: str, client: ClientEnd) -> bool:
        """Whether the client is a user, and the session belongs to another one or to nobody who is known."""
        session = self._by_id.get(session_id)
        owner = self._owners.find(session_id) if session is None else session.owner
        return client.user is not None and owner != client.user

    def check_room(self) -> None:
        """LimitReached if there can't be another session."""
        if len(self.sessions) >= self.limits.sessions:
            raise LimitReached(f"too many sessions: at most {self.limits.sessions}; close one, or try again later")

    def set_home(self, process: AgentProcess, client: ClientEnd | None) -> None:
        """The process is used by a client for messages without a session; None: no more."""
        if client is not None:
            self._homes[process] = client
        else:
            home = self._homes.pop(process, None)
            if home is not None:
                home.hold(process, False)
            self.end_unused(process)

    def is_opening(self, process: AgentProcess) -> bool:
        """Whether a session is being opened there."""
        return process in self._openings

    def begin_opening(self, process: AgentProcess, opening: Opening) -> None:
        """Updates of unknown sessions that come from the process are for this client."""
        self._openings.setdefault(process, []).append(opening)

    def finish_opening(self, process: AgentProcess, opening: Opening, response: Envelope) -> HostedSession | None:
        """The session that was opened; None if it was refused."""
        openings = self._openings.get(process, [])
        if opening in openings:
            openings.remove(opening)
        if not openings:
            self._openings.pop(process, None)
        session_id = response.result_session_id
        if session_id is None:
            self.end_unused(process)
            return None
        session: HostedSession | None = process.sessions.get(session_id)
        if session is None:
            session = self.add(session_id, opening.client, opening.handshake, process)
        session.open_params = read_members(opening.params)
        self.opened(session, response)
        return session

    def opened(self, session: HostedSession, response: Envelope) -> None:
        """The agent has opened the session: it belongs to whoever has asked for it first."""
        session.opened(response.result)
        self._owners.add(session.id, session.owner)

    def add(
        self, session_id: str, client: ClientEnd, handshake: Handshake, process: AgentProcess | None
    ) -> HostedSession:
        """A session that a client opens; with `process` None it has none yet."""
        record = SessionRecord(self.limits.record_bytes, self._budget)
        session = HostedSession(session_id, client.user, handshake, record, self._answered)
        self.sessions.append(session)
        self._by_id.setdefault(session_id, session)
        self.totals.sessions += 1
        self.bind(session, process)
        session.attach(client)
        return session

    def bind(self, session: HostedSession, process: AgentProcess | None) -> None:
        """This process has the session from now on."""
        session.process = process
        if process is not None:
            process.sessions[session.id] = session

    def wake(self, session: HostedSession, logins: Sequence[Step]) -> AgentProcess:
        """The process of a session, started if it is asleep; LimitReached if that can't be."""
        if session.process is not None:
            return session.process
        handshake = session.handshake
        params = {**session.open_params, "sessionId": session.id}
        params.pop("replayFrom", None)
        method = "session/resume" if handshake.can_resume else "session/load"
        session.is_mute = True

        def awake(response: Envelope) -> None:
            session.is_mute = False

        process = self.pool.take_initialized(handshake, [*logins, Step(method, encode(params), awake)])
        self.bind(session, process)
        session.check_flow()
        return process

    def sleep(self, process: AgentProcess) -> None:
        """End a process; its sessions without clients end, too, and all if they can't be opened again."""
        sessions: list[HostedSession] = list(process.sessions.values())
        process.sessions.clear()
        self._homes.pop(process, None)
        for session in sessions:
            session.process_ended()
            if not session.clients or not session.handshake.can_sleep:
                self.drop(session)
        self.pool.end(process)

    def drop(self, session: HostedSession) -> None:
        """The session is not open any more."""
        session.is_dropped = True
        if session in self.sessions:
            self.sessions.remove(session)
        if self._by_id.get(session.id) is session:
            del self._by_id[session.id]
        process = session.process
        if process is not None:
            process.sessions.pop(session.id, None)
            session.process_ended()
            self.end_unused(process)
        session.record.cut()
        waiting, session.waiting = session.waiting, []
        for call in waiting:
            call()

    def forget_owner(self, session_id: str) -> None:
        """The session was deleted."""
        self._owners.remove(session_id)

    def end_unused(self, process: AgentProcess) -> None:
        """End a process without sessions, unless it is used otherwise."""
        if not process.sessions and process not in self._homes and process not in self._openings:
            self.pool.end(process)

    def end_idle(self) -> None:
        """End processes that have nothing to do, and sessions that nobody comes back to."""
        before = time.monotonic() - self.limits.idle_seconds
        for session in list(self.sessions):
            if session.process is None and not session.clients:
                self.drop(session)
            elif session.state == "waiting" and not session.clients and session.used_at < before:
                self.cancel(session)  # nobody has come to answer
        for process in [each for each in self.pool.used if self._is_idle(each) and each.used_at < before]:
            sessions: list[HostedSession] = list(process.sessions.values())
            if all(each.handshake.can_sleep or not each.clients for each in sessions):
                self.sleep(process)

    def _is_idle(self, process: AgentProcess) -> bool:
        is_open = process in self._openings or process.open_requests > 0
        return not is_open and not any(each.has_work for each in process.sessions.values())

    def cancel(self, session: HostedSession) -> None:
        """Cancel the turn of a session."""
        if session.process is not None:
            session.process.notify("session/cancel", encode({"sessionId": session.id}))
            session.cancel_questions()

    def _make_room(self) -> bool:
        """Put the process to sleep that was idle for the longest time, if there is one."""
        idle = [
            each
            for each in self.pool.used
            if self._is_idle(each) and all(session.handshake.can_sleep for session in each.sessions.values())
        ]
        if not idle:
            return False
        self.sleep(min(idle, key=lambda each: each.used_at))
        return True

    def _answered(self, client: ClientEnd, session_id: str, facts: dict[str, Any]) -> None:
        self.audit("answered", client, session_id, **facts)

    def message_received(self, process: AgentProcess, message: Envelope, frame: bytes) -> None:
        """A request or a notification of a process."""
        if message.method == CANCEL:
            self._withdraw(process, message)
            return
        session_id = message.session_id
        session: HostedSession | None = None if session_id is None else process.sessions.get(session_id)
        if session is None and session_id is not None and process in self._openings:
            opening = self._openings[process][0]
            session = self.add(session_id, opening.client, opening.handshake, process)
        if session is not None:
            session.message_received(message, frame)
        else:
            self._message_without_session(process, message, frame)

    def _message_without_session(self, process: AgentProcess, message: Envelope, frame: bytes) -> None:
        clients = self._clients(process)
        if not message.is_request:
            for client in clients if message.session_id is None else ():
                client.send(frame)
            return
        params = read_members(message.params)
        if not clients or message.session_id is not None:
            process.respond(message.key, error_response(METHOD_NOT_FOUND, "no client is connected"))
            return
        for client in clients:
            key = client.find_request(process, params.get("requestId"))
            if key is not None:  # about a request of this client, which has another id there
                client.ask(
                    str(message.method),
                    encode({**params, "requestId": Raw(key)}),
                    partial(process.respond, message.key),
                )
                return
        clients[0].ask(str(message.method), message.params, partial(process.respond, message.key))

    def _clients(self, process: AgentProcess) -> list[ClientEnd]:
        """Whoever uses the process, first the client whose own it is."""
        home = self._homes.get(process)
        attached = [client for session in process.sessions.values() for client in session.clients]
        return list(dict.fromkeys([*([] if home is None else [home]), *attached]))

    def _withdraw(self, process: AgentProcess, message: Envelope) -> None:
        key = read_members(message.params).get("requestId")
        if key is not None:
            for session in process.sessions.values():
                if session.withdraw(bytes(key)):
                    return

    def process_lost(self, process: AgentProcess, text: str) -> None:
        """A process has ended by itself."""
        self.totals.processes_lost += 1
        self.pool.forget(process)
        self._homes.pop(process, None)
        self._openings.pop(process, None)
        sessions: list[HostedSession] = list(process.sessions.values())
        process.sessions.clear()
        for session in sessions:
            session.process_ended(text)
            if not session.handshake.can_sleep or not session.clients:
                self.drop(session)

    def process_full(self, process: AgentProcess, is_full: bool) -> None:
        """Do not read from the clients of a process that does not read."""
        for session in process.sessions.values():
            for client in session.clients:
                client.hold(process, is_full)
        home = self._homes.get(process)
        if home is not None:
            home.hold(process, is_full)
