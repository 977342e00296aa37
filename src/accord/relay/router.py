"""A process for each session, to which connections attach."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from accord.errors import ConnectionClosed
from accord.relay.client_end import ClientEnd, ClientTransport
from accord.relay.limits import RateLimit, RelayLimits
from accord.relay.routed_connection import RoutedConnection
from accord.relay.session_owners import SessionOwners
from accord.relay.session_table import Audit, SessionTable
from accord.relay.status import Snapshot, Totals
from accord.transports.transport import Transport


def no_audit(*facts: object, **more: object) -> None:
    """Keeps nothing."""


class Router:
    """Serves connections with processes that `connect` describes."""

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
