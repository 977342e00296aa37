"""`accord serve -- COMMAND`: any agent that speaks over stdin and stdout, over the network.

Each session has a process of its own, to which connections attach; with `--process-per connection` each connection has one.
Params and results are passed on as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accord.agent.asgi import run_http
from accord.agent.audit import AuditEvent, RefusedLogins, write
from accord.agent.http_settings import add_http_arguments, read_http_settings
from accord.client.target import Command
from accord.errors import AccordError, ConnectionClosed
from accord.local.paths import expand_path
from accord.local.text import printable
from accord.relay.client_end import ClientEnd
from accord.relay.process_pool import MIB, RelayLimits
from accord.relay.router import ConnectionProcesses, Router
from accord.relay.session_records import SessionOwners
from accord.relay.status import Snapshot
from accord.transports.asgi_link import AsgiMessage, AsgiReceive, AsgiSend
from accord.transports.http_application import HttpApplication
from accord.transports.http_request import HttpRequest
from accord.transports.http_server import HttpLimits
from accord.transports.spawn import find_program

if TYPE_CHECKING:
    from argparse import ArgumentParser

_ADDRESS = "127.0.0.1:8000"
_CONNECTIONS = 1000
_HEALTH = "/healthz"
_READINESS = "/readyz"
_DEFAULTS = RelayLimits()
_NUMBERS = {
    "connections": (_CONNECTIONS, "how many connections at once"),
    "sessions": (_DEFAULTS.sessions, "how many sessions at once, those that are asleep included"),
    "processes": (_DEFAULTS.processes, "how many processes at once"),
    "idle_seconds": (
        int(_DEFAULTS.idle_seconds),
        "how long a process lives that has nothing to do; its sessions sleep until they are used again",
    ),
    "rate": (int(_DEFAULTS.rate), "how many requests per second one user may send"),
    "history_mib": (
        _DEFAULTS.record_bytes // MIB,
        "how much of a session's history is kept for clients that attach to it",
    ),
    "memory_mib": (_DEFAULTS.records_bytes // MIB, "how much is kept of the history of all sessions together"),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Serves an agent over HTTP and WebSocket: COMMAND is started for each session, and speaks the Agent Client "
        "Protocol over its stdin and stdout. Connections attach to sessions: a turn goes on when its connection ends, and "
        "several clients can share a session. On an address that other machines reach it needs --tokens and TLS. GET "
        f"{_HEALTH} and {_READINESS} tell whether it runs and takes connections. `accord connect URL` is the other end."
    )
    add_http_arguments(parser, f"where to listen (default: {_ADDRESS}, which only this machine reaches)")
    parser.add_argument("--cwd", metavar="DIR", help="the directory to start the command in (default: this one)")
    parser.add_argument(
        "--process-per",
        choices=("session", "connection"),
        help="what has a process of its own (default: session); that of a connection ends with it",
    )
    parser.add_argument(
        "--owners", metavar="FILE", help="keep in this file which user owns which session, also after a restart"
    )
    parser.add_argument(
        "--shared-sessions",
        action="store_true",
        help="with --process-per connection and --tokens: users may open each other's sessions",
    )
    parser.add_argument("--warm", metavar="N", help="how many processes to start in advance (default: 0)")
    for name, (default, text) in _NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="N", help=f"{text} (default: {default})")
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="the agent's command, after `--`")


def main(arguments: Mapping[str, Any]) -> int:
    command: list[str] = arguments.get("command", [])
    if not command:
        raise AccordError("which agent? `accord serve -- COMMAND`, such as `accord serve -- accord agent`")
    _check_owners(arguments)
    settings = read_http_settings(arguments, _ADDRESS)
    cwd = str(expand_path(arguments.get("cwd", ".")))
    numbers = {name: _count(arguments, name, default) for name, (default, _) in _NUMBERS.items()}
    limits = _read_limits(arguments, numbers)
    connections = numbers["connections"] if limits is not None else min(numbers["connections"], numbers["processes"])
    owners = str(expand_path(arguments["owners"])) if "owners" in arguments else None
    try:
        served = ServedCommand(command, cwd, connections, limits, owners)
        _check_command(command, cwd)
        run_http(served.application, settings, "accord serve", served.aclose, served.snapshot)
    except (ValueError, OSError, ImportError, ConnectionClosed) as error:
        sys.stderr.write(f"accord serve: {printable(str(error))}\n")
        return 1
    return 0


def _check_owners(arguments: Mapping[str, Any]) -> None:
    """With a process for each connection messages are not read, so a session can't be kept from other users.

    This does not ask how many users there are: tokens can be added while the server runs.
    """
    is_shared = arguments.get("shared_sessions", False)
    if arguments.get("process_per", "session") == "session":
        if is_shared:
            raise AccordError("--shared-sessions needs --process-per connection")
    elif "owners" in arguments:
        raise AccordError("--owners needs --process-per session")
    elif "tokens" in arguments and not is_shared:
        raise AccordError(
            "with --process-per connection, all users of --tokens can open each other's sessions: use --process-per session, "
            "or add --shared-sessions to allow it"
        )


def _read_limits(arguments: Mapping[str, Any], numbers: Mapping[str, int]) -> RelayLimits | None:
    """The limits for a process per session; None for one per connection."""
    if arguments.get("process_per", "session") == "connection":
        return None
    return RelayLimits(
        sessions=numbers["sessions"],
        processes=numbers["processes"],
        warm=_count(arguments, "warm", 0, least=0),
        idle_seconds=numbers["idle_seconds"],
        record_bytes=numbers["history_mib"] * MIB,
        records_bytes=numbers["memory_mib"] * MIB,
        rate=numbers["rate"],
    )


class ServedCommand:
    """A command that is started for each session; without `limits`, for each connection."""

    def __init__(
        self, command: Sequence[str], cwd: str, connections: int, limits: RelayLimits | None, owners: str | None = None
    ) -> None:
        connect = Command(list(command), cwd=cwd).connect
        if limits is None:
            self._router = ConnectionProcesses(connect)
        else:
            self._router = Router(connect, limits, _audit, SessionOwners(owners))
        self._limits = HttpLimits(connections=connections)

    def application(self, **options: Any) -> ServeApplication:
        """The ASGI application; `options` are those of `agent.asgi()`."""
        tokens = options.pop("tokens", None)
        return ServeApplication(self._router, limits=self._limits, authenticator=tokens, **options)

    def snapshot(self) -> Snapshot:
        """Who is connected, and what runs, now."""
        return self._router.snapshot()

    async def aclose(self) -> None:
        """End all processes."""
        await self._router.aclose()


def _audit(event: AuditEvent, client: ClientEnd, session_id: str | None, **facts: Any) -> None:
    name = None if client.handshake is None else client.handshake.client_name
    write(event, client.transport.identity, name, session_id, facts)


class ServeApplication(HttpApplication):
    """Answers the checks of load balancers, too; they need no token."""

    def __init__(self, router: Router | ConnectionProcesses, **options: Any) -> None:
        super().__init__(router.serve, **options)
        self._router = router
        self._refused_logins = RefusedLogins()

    def login_refused(self, address: str | None) -> None:
        self._refused_logins.add(address)

    async def aclose(self, seconds: float = 3.0) -> None:
        """Cancel the turns and end all connections, within the time, then end all processes. Safe to call twice."""
        self._router.drain()
        await super().aclose(seconds)
        await self._router.aclose()
        self._refused_logins.flush()

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


def _count(arguments: Mapping[str, Any], name: str, default: int, least: int = 1) -> int:
    word: str = arguments.get(name, str(default))
    if not word.isdecimal() or not least <= int(word) <= 100_000:
        flag = name.replace("_", "-")
        raise AccordError(f"--{flag} takes a number from {least} to 100000, not {printable(word)!r}")
    return int(word)
