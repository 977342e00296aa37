"""The processes that work for one connection: its own, those of its sessions, and the requests that it sent to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import UNSET

from accord.relay.agent_process import AgentProcess
from accord.relay.client_end import ClientEnd
from accord.relay.envelope import Envelope
from accord.relay.handshake import Handshake
from accord.relay.hosted_session import HostedSession
from accord.relay.process_pool import Step
from accord.relay.session_table import SessionTable

LOGINS = ("authenticate", "auth/login")
LOGOUTS = ("logout", "auth/logout")


class ClientProcesses:
    """`answered` is set with each response. A new process gets the logins that succeeded on others before."""

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
