"""Opens sessions for one connection, with its processes: new ones, stored ones, and those that other connections have open.

A session that is open is not opened again: the connection attaches to it, and gets its history from the record. Where there
is no whole record, the agent is asked to send the history once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET, Raw

from accord.jsonrpc.error_codes import INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND
from accord.relay.agent_process import AgentProcess
from accord.relay.client_end import ClientEnd
from accord.relay.envelope import (
    Envelope,
    encode,
    error_response,
    read_members,
    result_response,
)
from accord.relay.handshake import Handshake
from accord.relay.hosted_session import HostedSession
from accord.relay.process_pool import Step
from accord.relay.session_table import Opening, SessionTable

LOGINS = ("authenticate", "auth/login")
LOGOUTS = ("logout", "auth/logout")


class ClientProcesses:
    """The processes that work for one connection: its own, and those of its sessions.

    `answered` is set with each response. A new process gets the logins that succeeded on others before.
    """

    def __init__(self, client: ClientEnd, table: SessionTable) -> None:
        self._client = client
        self._table = table
        self._home: AgentProcess | None = None
        self._logins: list[Step] = []
        self.sessions: dict[str, HostedSession] = {}
        """The sessions that the connection is attached to."""
        self.answered = asyncio.Event()

    @property
    def home(self) -> AgentProcess | None:
        """The process for messages without a session, if there is one."""
        return None if self._home is None or self._home.is_ending else self._home

    def forward(
        self, message: Envelope, process: AgentProcess, on_response: Callable[[Envelope], None] | None = None
    ) -> None:
        """Send a request on; `on_response` is called before its client gets the response."""

        def responded(response: Envelope) -> None:
            if on_response is not None:
                on_response(response)
            self._client.respond(message.key, response)
            self.answered.set()

        self._client.requests[message.key] = None
        self._client.requests[message.key] = process, process.request(str(message.method), message.params, responded)

    def start_home(self) -> AgentProcess:
        """A process that was not initialized."""
        self._home = self._table.pool.take()
        self._table.set_home(self._home, self._client)
        return self._home

    def drop_home(self) -> None:
        """The connection does not use it any more."""
        home, self._home = self._home, None
        if home is not None:
            self._table.set_home(home, None)

    def free(self, handshake: Handshake) -> AgentProcess:
        """A process without sessions: the connection's own, or another one."""
        home = self.home
        if home is not None and not home.sessions and not self._table.is_opening(home):
            return home
        return self._table.pool.take_initialized(handshake, self._logins)

    def own(self, handshake: Handshake) -> AgentProcess:
        """The process for messages without a session: the connection's own, or that of one of its sessions."""
        if self.home is not None:
            return self.home
        for session in self.sessions.values():
            if session.process is not None and not session.is_dropped:
                return session.process
        self._home = self._table.pool.take_initialized(handshake, self._logins)
        self._table.set_home(self._home, self._client)
        return self._home

    def wake(self, session: HostedSession) -> AgentProcess:
        """The process of a session."""
        return self._table.wake(session, self._logins)

    def log_in(self, message: Envelope, handshake: Handshake) -> None:
        """Forward a login or a logout, and remember it if it succeeds."""
        params = b"{}" if message.params is UNSET else bytes(message.params)

        def responded(response: Envelope) -> None:
            if response.error is UNSET:
                is_login = message.method in LOGINS
                self._logins = [*self._logins, Step(str(message.method), params)] if is_login else []

        self.forward(message, self.own(handshake), responded)


class SessionOpener:
    """`retry` handles a request once more that had to wait."""

    def __init__(self, client: ClientEnd, table: SessionTable, processes: ClientProcesses, retry: Any) -> None:
        self._client = client
        self._table = table
        self._processes = processes
        self._sessions = processes.sessions
        self._retry = retry

    def open(self, message: Envelope, handshake: Handshake, process: AgentProcess) -> None:
        """Forward a request whose result has a new session."""
        opening = Opening(self._client, handshake, message.params)
        self._table.begin_opening(process, opening)

        def responded(response: Envelope) -> None:
            session = self._table.finish_opening(process, opening, response)
            if session is not None:
                self._sessions[session.id] = session
                self._table.audit("opened", self._client, session.id)
                if self._client.is_gone:
                    session.leave(self._client)

        self._processes.forward(message, process, responded)

    def load(self, message: Envelope, session_id: str, handshake: Handshake) -> None:
        """Open a session that is stored, or attach to it."""
        session = self._table.find(session_id)
        if self._table.is_foreign(session_id, self._client):
            self._respond(message, not_found(session_id))
        elif session is None:
            self._load_stored(message, session_id, handshake)
        elif session.is_opening or session.loader is not None:
            self.wait(message, session)
        elif session.handshake.dialect != handshake.dialect:
            self._load_with_other_version(message, session, handshake)
        elif _differs(session.open_params.get("cwd"), read_members(message.params).get("cwd")):
            self._respond(message, error_response(INVALID_PARAMS, "the session belongs to another directory"))
        elif not _wants_replay(message) or session.record.is_whole:
            self._attach(message, session)
        elif session.is_running:
            text = (
                "the session's history is too long to be sent while a turn runs; load it after the turn, or resume it"
            )
            self._respond(message, error_response(INVALID_REQUEST, text))
        else:
            self._replay(message, session)

    def wait(self, message: Envelope, session: HostedSession) -> None:
        """Handle a request when somebody else has opened the session."""
        self._client.requests[message.key] = None
        session.waiting.append(partial(self._retry, message))

    def _respond(self, message: Envelope, response: Envelope) -> None:
        self._client.respond(message.key, response)

    def _load_stored(self, message: Envelope, session_id: str, handshake: Handshake) -> None:
        self._table.check_room()
        process = self._processes.free(handshake)
        session = self._table.add(session_id, self._client, handshake, process)
        session.open_params = read_members(message.params)
        session.is_opening = True
        if not _wants_replay(message):
            session.record.cut()
        self._sessions[session_id] = session

        def responded(response: Envelope) -> None:
            if response.error is not UNSET:
                self._sessions.pop(session_id, None)
                self._table.drop(session)
                return
            self._table.opened(session, response)
            self._table.audit("opened", self._client, session_id)
            _call(session)

        self._processes.forward(message, process, responded)

    def _load_with_other_version(self, message: Envelope, session: HostedSession, handshake: Handshake) -> None:
        """Clients of different versions can't share a session; one that nobody uses is opened anew."""
        if not session.clients and not session.is_running and session.handshake.can_sleep:
            self._table.drop(session)
            self._load_stored(message, session.id, handshake)
            return
        text = (
            f"the session is open with version {session.handshake.version} of the protocol; connect with that version"
        )
        self._respond(message, error_response(INVALID_REQUEST, text))

    def _attach(self, message: Envelope, session: HostedSession) -> None:
        whole = _wants_replay(message)
        session.send_history(self._client, whole=whole)
        self._respond(message, result_response(encode(session.setup)))
        self._join(session)
        if not whole:
            session.send_commands(self._client)

    def _replay(self, message: Envelope, session: HostedSession) -> None:
        """Have the agent send the history once more, to this client only."""
        process = self._processes.wake(session)
        session.loader = self._client
        session.record.restart()
        self._sessions[session.id] = session

        def responded(response: Envelope) -> None:
            session.loader = None
            if response.error is not UNSET:
                session.record.cut()
                if self._client not in session.clients:
                    self._sessions.pop(session.id, None)
            elif not self._client.is_gone:
                session.setup.update(read_members(response.result))
                self._join(session)
            session.check_flow()
            _call(session)

        self._processes.forward(message, process, responded)

    def _join(self, session: HostedSession) -> None:
        self._sessions[session.id] = session
        session.attach(self._client)
        self._table.audit("opened", self._client, session.id)
        session.ask_again(self._client)


def _call(session: HostedSession) -> None:
    waiting, session.waiting = session.waiting, []
    for call in waiting:
        call()


def _wants_replay(message: Envelope) -> bool:
    replay = read_members(message.params).get("replayFrom")
    return message.method == "session/load" or (replay is not None and bytes(replay) != b"null")


def _differs(one: Raw | None, other: Raw | None) -> bool:
    return one is not None and other is not None and bytes(one) != bytes(other)


def not_found(session_id: str) -> Envelope:
    """The response for a session that does not exist, or is somebody else's."""
    return error_response(NOT_FOUND, "session not found", {"sessionId": session_id})
