"""Runs an application in Hypercorn: HTTP/1.1, HTTP/2 and WebSocket in the event loop of the program.

Law: it ends within a few seconds of being told to, whatever its clients do. First the application ends its connections,
which its clients hear of; then Hypercorn has a moment to close the sockets; then it is cancelled.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
import ssl
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.parse import urlsplit

from accord.errors import ExtraMissing
from accord.transports.asgi_link import SOCKET, AsgiMessage, AsgiReceive, AsgiSend
from accord.transports.http_server import HttpLimits
from accord.transports.installation import install_command

log = logging.getLogger("accord.http")

_DRAIN_SECONDS = 1.5
_CLOSE_SECONDS = 0.5
_CANCEL_SECONDS = 0.25
_BACKLOG = 1024
_MANY = 2**31 - 1
_IDLE_SECONDS = 20
"""How long a socket may wait for a request, or for the rest of its head."""
_SOCKET_TIMES = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 90_000,  # milliseconds: a client that takes nothing for so long, or is gone
}


class ListenAddress:
    """A host and a port, such as `127.0.0.1:8000`; port 0 takes a free one.

    ValueError for anything else, and for a host that other machines reach, unless the connection is encrypted and asks
    who the user is.
    """

    def __init__(self, text: str, *, is_encrypted: bool = False, has_authentication: bool = False) -> None:
        host = port = None
        with suppress(ValueError):
            parts = urlsplit(f"//{text}")
            if parts.netloc == text and "@" not in text:
                host, port = parts.hostname, parts.port
        if not host or port is None:
            raise ValueError(f"invalid address {text!r}: expected HOST:PORT, such as 127.0.0.1:8000")
        self.host: str = host
        self.port: int = port
        if _is_loopback(host):
            return
        if not has_authentication:
            raise ValueError(
                f"refused to listen on {host} without authentication: other machines could use the agent. Give it tokens "
                "(`accord token create` makes them), or listen on 127.0.0.1"
            )
        if not is_encrypted:
            raise ValueError(
                f"refused to listen on {host} without TLS: others could read the tokens. Give it a certificate and its key, "
                "or say that a proxy with TLS is in front of it"
            )

    def listen(self) -> socket.socket:
        """A socket that listens there; OSError if that fails."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listener = socket.create_server((self.host, self.port), family=family, backlog=_BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            reason = f"address already in use: {self.host}:{self.port}. Stop the program that listens there, or choose another port"
            raise OSError(errno.EADDRINUSE, reason) from None
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # inherited: finds clients that are gone
        for name, value in _SOCKET_TIMES.items():
            if hasattr(socket, name):
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return listener


class WebApplication(Protocol):
    """An ASGI application with the path that clients use, its limits, and an end."""

    path: str
    limits: HttpLimits

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None: ...

    async def aclose(self, seconds: float = ...) -> None: ...


class WebServer:
    """Serves an application on a socket, from the time it is created: clients that connect early wait.

    `tls` is the file of the certificate and that of its key; OSError if they can't be used.
    """

    def __init__(
        self, application: WebApplication, listener: socket.socket, tls: tuple[str, str] | None = None
    ) -> None:
        if find_spec("hypercorn") is None:
            listener.close()
            raise ExtraMissing(f"serving over HTTP needs the extra `http`: {install_command('http')}")
        self.application = application
        self._tls = tls
        if tls is not None:
            try:
                ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(*tls)
            except OSError as error:
                listener.close()
                raise OSError(f"the certificate {tls[0]} and its key {tls[1]} can't be used: {error}") from None
        host, port = listener.getsockname()[:2]
        self.url = (
            f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}{application.path}"
        )
        """Where clients connect to."""
        self._listener = listener

    async def serve(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then end all connections and return in bounded time."""
        serve: Any = import_module("hypercorn.asyncio").serve  # an extra
        import_module("hypercorn.asyncio.run").TCPServer = import_module("accord.transports.server_socket").Server  # type: ignore[attr-defined]  # which serves each socket

        async def drain() -> None:
            await stop.wait()
            await self.application.aclose(_DRAIN_SECONDS)

        task = asyncio.create_task(
            serve(_offer_sockets(self.application), self._settings(), shutdown_trigger=drain), name="accord web server"
        )
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((task,), timeout=_DRAIN_SECONDS + _CLOSE_SECONDS)
        finally:
            stopped.cancel()
            is_done = task.done()
            task.cancel()
            await asyncio.wait((task,), timeout=_CANCEL_SECONDS)
        if is_done:
            await task
        else:
            log.info("the web server did not close all sockets in time; they are abandoned")

    def _settings(self) -> Any:
        limits = self.application.limits
        config = import_module("hypercorn.config").Config()
        config.bind = [f"fd://{self._listener.detach()}"]
        if self._tls is not None:
            config.certfile, config.keyfile = self._tls
        config.errorlog = log
        config.accesslog = None
        config.include_server_header = False
        config.graceful_timeout = _CLOSE_SECONDS
        config.shutdown_timeout = _CLOSE_SECONDS
        config.keep_alive_timeout = _IDLE_SECONDS
        config.keep_alive_max_requests = _MANY  # at the limit it would close the streams too
        config.h2_max_concurrent_streams = limits.sessions + 100
        config.websocket_max_message_size = limits.body_bytes
        config.websocket_ping_interval = None  # its pings outlive the WebSocket, and nothing waits for the pongs
        config.backlog = _BACKLOG
        return config


def _offer_sockets(application: WebApplication) -> Any:
    """The application, which can take the socket of a WebSocket: each message takes Hypercorn several tasks and queues."""
    web_socket_connection = import_module("hypercorn.protocol.h11").H11WSConnection
    limit = application.limits.body_bytes

    async def offer(scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        stream: Any = getattr(send, "__self__", None)
        protocol: Any = getattr(getattr(stream, "send", None), "__self__", None)
        if scope["type"] == "websocket" and isinstance(getattr(protocol, "connection", None), web_socket_connection):

            def take_socket() -> Any:
                stream.handshake.extensions = None  # compression costs more time than it saves
                return protocol.send.__self__.socket.take_messages(limit)

            scope.setdefault("extensions", {})[SOCKET] = take_socket
        await application(scope, receive, send)

    return offer


def stop_on_signals(stop: asyncio.Event) -> None:
    """SIGINT and SIGTERM set the event; for the main thread."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl+C is a KeyboardInterrupt there
            loop.add_signal_handler(number, stop.set)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
