"""`accord serve -- COMMAND`: any agent that speaks over stdin and stdout, over the network.

Each connection has a process of its own, which lives as long as the connection: a cut that is resumed in time does not end
it. Frames are passed on as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accord.agent.asgi import run_http
from accord.agent.http_settings import add_http_arguments, read_http_settings
from accord.client.target import Command
from accord.errors import AccordError, ConnectionClosed
from accord.local.paths import expand_path
from accord.local.text import printable
from accord.relay.connection_processes import ConnectionProcesses
from accord.relay.status import Snapshot
from accord.transports.http_application import HttpApplication
from accord.transports.http_request import HttpRequest
from accord.transports.http_server import HttpLimits
from accord.transports.spawn import find_program
from accord.transports.websocket_server import AsgiMessage, AsgiReceive, AsgiSend

if TYPE_CHECKING:
    from argparse import ArgumentParser

_ADDRESS = "127.0.0.1:8000"
_CONNECTIONS = 100
_HEALTH = "/healthz"
_READINESS = "/readyz"


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Serves an agent over HTTP and WebSocket: COMMAND is started for each connection, and speaks the Agent Client "
        "Protocol over its stdin and stdout. On an address that other machines reach it needs --tokens and TLS. GET "
        f"{_HEALTH} and {_READINESS} tell whether it runs and takes connections. `accord connect URL` is the other end."
    )
    add_http_arguments(parser, f"where to listen (default: {_ADDRESS}, which only this machine reaches)")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to start the command in (default: this one)")
    parser.add_argument(
        "--connections", metavar="N", help=f"how many connections, and so processes, at once (default: {_CONNECTIONS})"
    )
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after `--`")


def main(arguments: Mapping[str, Any]) -> int:
    command: list[str] = arguments.get("command", [])
    if not command:
        raise AccordError("which agent? `accord serve -- COMMAND`, such as `accord serve -- accord agent`")
    settings = read_http_settings(arguments, _ADDRESS)
    cwd = str(expand_path(arguments.get("cwd", ".")))
    limits = HttpLimits(connections=_count(arguments.get("connections", str(_CONNECTIONS))))
    try:
        _check_command(command, cwd)
        run_http(ServedCommand(command, cwd, limits).application, settings, "accord serve", _nothing)
    except (ValueError, OSError, ImportError, ConnectionClosed) as error:
        sys.stderr.write(f"accord serve: {printable(str(error))}\n")
        return 1
    return 0


class ServedCommand:
    """A command that is started for each connection."""

    def __init__(self, command: Sequence[str], cwd: str, limits: HttpLimits) -> None:
        self._processes = ConnectionProcesses(Command(list(command), cwd=cwd).connect)
        self._limits = limits

    def application(self, **options: Any) -> ServeApplication:
        """The ASGI application; `options` are those of `agent.asgi()`."""
        tokens = options.pop("tokens", None)
        return ServeApplication(self._processes.serve, limits=self._limits, authenticator=tokens, **options)

    def snapshot(self) -> Snapshot:
        """Who is connected, and what runs, now."""
        return self._processes.snapshot()


class ServeApplication(HttpApplication):
    """Answers the checks of load balancers, too; they need no token."""

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """The ASGI application itself."""
        if scope["type"] == "http" and scope["path"] in (_HEALTH, _READINESS) and scope["method"] in ("GET", "HEAD"):
            is_well = scope["path"] == _HEALTH or self.takes_connections
            await HttpRequest(scope, receive, send).respond(200 if is_well else 503, b"ok\n" if is_well else b"busy\n")
            return
        await super().__call__(scope, receive, send)


def _check_command(command: Sequence[str], cwd: str) -> None:
    """ConnectionClosed with the reason if there is no such program."""
    find_program(command, dict(os.environ), cwd)


def _count(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= 100_000:
        raise AccordError(f"--connections takes a number from 1 to 100000, not {printable(word)!r}")
    return int(word)


async def _nothing() -> None:
    """The application has ended all processes with their connections."""
