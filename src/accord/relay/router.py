"""Connects clients with processes: one process for each session, or one for each connection."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from accord.errors import ConnectionClosed
from accord.relay.agent_process import explain_end
from accord.relay.client_end import ClientEnd, ClientTransport
from accord.relay.process_pool import RelayLimits
from accord.relay.relay import Relay
from accord.relay.routed_connection import RateLimit, RoutedConnection
from accord.relay.session_records import SessionOwners
from accord.relay.session_table import Audit, SessionTable
from accord.relay.status import ID_PREFIX, ConnectionStatus, ProcessStatus, Snapshot, Totals, process_memory
from accord.transports.http_application import ServerTransport
from accord.transports.http_server import HttpServerTransport
from accord.transports.process_transport import ProcessTransport
from accord.transports.transport import Transport

log = logging.getLogger("accord.relay")


def no_audit(*facts: object, **more: object) -> None:
    """Keeps nothing."""


class Router:
    """Serves connections with a process for each session, which `connect` describes; connections attach to sessions."""

    def __init__(
        self,
        connect: Callable[[], Transport],
        limits: RelayLimits | None = None,
        audit: Audit = no_audit,
        owners: SessionOwners | None = None,
    ) -> None:
        self._limits = limits or RelayLimits()
        self._table = SessionTable(connect, self._limits, audit, owners or SessionOwners())
        self._rate = RateLimit(self._limits.rate, time.monotonic)
        self._connections: list[RoutedConnection] = []
        self._checks: asyncio.Task[None] | None = None
        self._is_draining = False

    def start(self) -> None:
        """Start the warm processes; else they are started with the first connection."""
        if self._checks is None:
            self._checks = asyncio.create_task(self._end_idle(), name="accord idle processes")
            self._table.pool.fill()

    async def serve(self, transport: ClientTransport) -> None:
        """Returns when the connection has ended; its sessions go on without it."""
        self.start()
        client = ClientEnd(transport, self._limits.unread_bytes, self._table.totals)
        connection = RoutedConnection(client, self._table, self._rate)
        self._connections.append(connection)
        self._table.totals.connections += 1
        self._table.audit("connected", client, None, connection=client.id)
        try:
            with suppress(ConnectionClosed):
                await transport.open(connection)
                await connection.ended.wait()
                await self._wait_for_answers(connection)
        finally:
            self._connections.remove(connection)
            connection.leave()
            self._table.audit("disconnected", client, None, connection=client.id)
            await transport.aclose()

    def drain(self) -> None:
        """The server shuts down: turns are cancelled, so that their clients get the answers."""
        self._is_draining = True
        for session in list(self._table.sessions):
            if session.is_running:
                self._table.cancel(session)

    async def aclose(self) -> None:
        """End all processes. Safe to call twice."""
        self._is_draining = True
        if self._checks is not None:
            self._checks.cancel()
        await self._table.pool.aclose()

    def snapshot(self) -> Snapshot:
        """Who is connected, and what runs, now."""
        totals = self._table.totals
        return Snapshot(
            connections=tuple(each.client.status() for each in self._connections),
            sessions=tuple(each.status() for each in self._table.sessions),
            processes=self._table.pool.status(),
            totals=Totals(**{name: getattr(totals, name) for name in Totals.__struct_fields__}),
        )

    async def _wait_for_answers(self, connection: RoutedConnection) -> None:
        """The client sends no more: wait a moment for the answers to what it asked."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.drain_seconds):
                while connection.is_busy and not connection.client.is_gone:
                    with suppress(TimeoutError):  # the end of a turn may be an update
                        await asyncio.wait_for(connection.wait_answered(), 0.05)

    async def _end_idle(self) -> None:
        while True:
            await asyncio.sleep(max(0.02, min(1.0, self._limits.idle_seconds / 4)))
            self._table.end_idle()


class ConnectionProcesses:
    """Serves each connection with a process of its own, which `connect` describes.

    It lives as long as the connection: a cut that is resumed in time does not end it.
    """

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
