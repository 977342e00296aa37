"""An agent as an ASGI application, for web servers and to be mounted in other applications."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from accord.agent.connection import AgentEndpoint
from accord.peer.event_loop import run, run_until
from accord.transports.http_application import HttpApplication, ServerTransport
from accord.transports.http_server import HttpLimits
from accord.transports.transport import Transport
from accord.transports.web_server import ListenAddress, WebServer, stop_on_signals


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
    ) -> None:
        super().__init__(self._serve_agent, path=path, hosts=hosts, origins=origins, limits=limits)
        self._new_endpoint = new_endpoint

    async def _serve_agent(self, transport: ServerTransport) -> None:
        endpoint = self._new_endpoint(transport)
        transport.batches_allowed = lambda: endpoint.peer.batches_allowed
        await endpoint.run()


def run_application(
    application: HttpApplication, address: str, name: str, close: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Serve on this address until SIGINT or SIGTERM, then close; says on stderr where it listens.

    ValueError for an address that is refused, OSError for one that is taken.
    """
    server = WebServer(application, ListenAddress(address).listen())

    async def main() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        sys.stderr.write(f"{name} listens on {server.url}\n")
        sys.stderr.flush()
        await run_until(stop, partial(server.serve, stop), close)

    with suppress(KeyboardInterrupt):
        run(main())
