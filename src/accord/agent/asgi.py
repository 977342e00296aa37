"""An agent as an ASGI application, for web servers and to be mounted in other applications."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from accord.agent.audit import RefusedLogins, audit_log, record
from accord.agent.connection import AgentEndpoint
from accord.agent.http_settings import HttpSettings
from accord.local.token_file import TokenFile
from accord.peer.event_loop import run, run_until
from accord.relay.status import Snapshot
from accord.telemetry.logs import json_logs
from accord.telemetry.status_page import StatusPage
from accord.telemetry.traces import Traces
from accord.telemetry.traffic import Traffic
from accord.transports.http_application import HttpApplication, ServerTransport
from accord.transports.http_request import Authenticator
from accord.transports.http_server import HttpLimits
from accord.transports.transport import Transport
from accord.transports.web_server import ListenAddress, WebServer, stop_on_signals

log = logging.getLogger("accord.http")


class AgentApplication(HttpApplication):
    """Serves the agent's endpoint, which `new_endpoint` makes for each connection."""

    def __init__(
        self,
        new_endpoint: Callable[[Transport], AgentEndpoint],
        *,
        path: str = "/acp",
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: HttpLimits | None = None,
        tokens: str | os.PathLike[str] | Authenticator | None = None,
    ) -> None:
        super().__init__(
            self._serve_agent,
            path=path,
            hosts=hosts,
            origins=origins,
            limits=limits,
            authenticator=TokenFile(tokens) if isinstance(tokens, str | os.PathLike) else tokens,
        )
        self._new_endpoint = new_endpoint
        self._refused_logins = RefusedLogins()

    def login_refused(self, address: str | None) -> None:
        self._refused_logins.add(address)

    async def aclose(self, seconds: float = 3.0) -> None:
        """As HttpApplication.aclose."""
        await super().aclose(seconds)
        self._refused_logins.flush()

    async def _serve_agent(self, transport: ServerTransport) -> None:
        endpoint = self._new_endpoint(transport)
        endpoint.identity = transport.identity
        transport.batches_allowed = lambda: endpoint.peer.batches_allowed
        record("connected", endpoint, connection=transport.id[:8])
        try:
            await endpoint.run()
        finally:
            record("disconnected", endpoint, connection=transport.id[:8])


def run_http(
    new_application: Callable[..., HttpApplication],
    settings: HttpSettings,
    name: str,
    close: Callable[[], Coroutine[Any, Any, None]],
    snapshot: Callable[[], Snapshot] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then close; says on stderr where it listens.

    `snapshot` tells the status page of processes.

    ValueError for settings that are refused, OSError for an address that is taken or a file that can't be used.
    """
    tokens = None if settings.tokens is None else TokenFile(settings.tokens)
    address = ListenAddress(
        settings.address,
        is_encrypted=settings.tls is not None or settings.behind_proxy,
        has_authentication=tokens is not None,
    )
    status_address = _status_address(settings)
    if tokens is not None:
        tokens.check()
    # A page that an attacker's DNS points here has no token, so with tokens the server may have any name.
    hosts = settings.hosts or (() if tokens is None else ("*",))
    application = new_application(hosts=hosts, origins=settings.origins, tokens=tokens)
    traffic = Traffic() if status_address is not None or settings.log_json or Traces.current() is not None else None
    application.observer = traffic
    servers = [WebServer(application, address.listen(), settings.tls)]
    if status_address is not None and traffic is not None:
        servers.append(WebServer(StatusPage(name, traffic, snapshot), status_address.listen()))

    async def main() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        for server, text in zip(servers, ("listens on", "shows its status on"), strict=False):
            if settings.log_json:
                log.info("%s %s %s", name, text, server.url)
            else:
                sys.stderr.write(f"{name} {text} {server.url}\n")
        sys.stderr.flush()
        await run_until(stop, partial(_serve, servers, stop), close)

    with ExitStack() as stack:
        if settings.audit is not None:
            stack.enter_context(audit_log(settings.audit))
        if settings.log_json:
            stack.enter_context(json_logs())
        stack.enter_context(suppress(KeyboardInterrupt))
        run(main())


def _status_address(settings: HttpSettings) -> ListenAddress | None:
    try:
        return None if settings.status is None else ListenAddress(settings.status)
    except ValueError as error:
        raise ValueError(f"the status page is for this machine only: {error}") from None


async def _serve(servers: list[WebServer], stop: asyncio.Event) -> None:
    try:
        await asyncio.gather(*(server.serve(stop) for server in servers))
    finally:
        stop.set()
