"""A process for each connection, which lives as long as the connection: a cut that is resumed in time does not end it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from accord.errors import ConnectionClosed
from accord.relay.relay import Relay
from accord.relay.status import ID_PREFIX, ConnectionStatus, ProcessStatus, Snapshot, Totals, process_memory
from accord.transports.http_application import ServerTransport
from accord.transports.http_server import HttpServerTransport
from accord.transports.process_transport import ProcessTransport

log = logging.getLogger("accord.relay")


def explain_end(reason: ConnectionClosed) -> str:
    """Why the agent is gone, for clients of other machines: without the paths and the output of its program."""
    if reason.kind == "not_started":
        return "the agent can't be started; the server's log says why"
    code = "" if reason.exit_code is None else f" (exit code {reason.exit_code})"
    return f"the agent's process ended{code}"


class ConnectionProcesses:
    """Serves each connection with a process that `connect` describes."""

    def __init__(self, connect: Callable[[], ProcessTransport]) -> None:
        self._connect = connect
        self._relays: list[_ServedConnection] = []
        self._totals = Totals()

    async def serve(self, client: ServerTransport) -> None:
        """Returns when the connection and its process have ended."""
        connection = _ServedConnection(client, self._connect())
        self._relays.append(connection)
        self._totals.connections += 1
        self._totals.processes += 1
        try:
            with suppress(ConnectionClosed):  # the client has got the reason
                await connection.relay.run()
        finally:
            self._relays.remove(connection)
            self._totals.processes_lost += connection.relay.lost is not None
            self._totals.bytes_in += connection.relay.bytes_in
            self._totals.bytes_out += connection.relay.bytes_out

    def drain(self) -> None:
        """The processes learn of it by the end of their connections."""

    async def aclose(self) -> None:
        """The processes end with their connections."""

    def snapshot(self) -> Snapshot:
        """The connections and their processes, now."""
        totals = Totals(**{name: getattr(self._totals, name) for name in Totals.__struct_fields__})
        totals.bytes_in += sum(each.relay.bytes_in for each in self._relays)
        totals.bytes_out += sum(each.relay.bytes_out for each in self._relays)
        return Snapshot(
            connections=tuple(each.status() for each in self._relays),
            sessions=(),
            processes=tuple(each.process_status() for each in self._relays),
            totals=totals,
        )


class _ServedConnection:
    def __init__(self, client: ServerTransport, process: ProcessTransport) -> None:
        self._client = client
        self._process = process
        self._since = time.time()
        self.relay = Relay(client, process, self._explain)

    def _explain(self, reason: ConnectionClosed) -> str:
        log.warning("connection %s: %s", self._client.id[:ID_PREFIX], reason)
        text = explain_end(reason)
        self._client.end_input(text)
        return text

    def status(self) -> ConnectionStatus:
        identity = self._client.identity
        return ConnectionStatus(
            id=self._client.id[:ID_PREFIX],
            user=None if identity is None else identity.user,
            client=None,
            transport="http" if isinstance(self._client, HttpServerTransport) else "websocket",
            since=self._since,
            bytes_in=self.relay.bytes_in,
            bytes_out=self.relay.bytes_out,
        )

    def process_status(self) -> ProcessStatus:
        pid = self._process.pid
        return ProcessStatus(pid=pid, memory=process_memory(pid), sessions=(), state="used", since=self._since)
