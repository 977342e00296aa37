"""The status page of a server, its data and its metrics, on an address that only this machine reaches.

Laws: nothing here changes anything, and nobody but `GET` and `HEAD` is answered. A request must call the server by a name of
loopback, so that no page of the web reaches it (DNS rebinding). What clients have sent reaches the page as data, and the
page puts it into text nodes only.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from accord.errors.local_errors import HttpRefusal
from accord.relay.status import SessionStatus, Snapshot, process_memory
from accord.telemetry.metrics import Metrics, has_client_library
from accord.telemetry.traffic import Traffic
from accord.transports.asgi_link import AsgiMessage, AsgiReceive, AsgiSend
from accord.transports.http_request import HttpRequest, OriginCheck
from accord.transports.http_server import HttpLimits
from accord.transports.installation import install_command

_INLINE = re.compile(rb"<(script|style)>(.*?)</\1>", re.DOTALL)
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class StatusPage:
    """An ASGI application: `/` is the page, `/status.json` its data, `/metrics` for Prometheus.

    `snapshot` tells of processes, and of sessions that nobody is connected to; without it there are none.
    """

    path = "/"

    def __init__(self, name: str, traffic: Traffic, snapshot: Callable[[], Snapshot] | None = None) -> None:
        self.limits = HttpLimits(connections=100, body_bytes=0)
        self._name = name
        self._traffic = traffic
        self._snapshot = snapshot
        self._origin_check = OriginCheck()
        self._page, self._policy = _page()
        self._metrics = Metrics(traffic, self.facts) if has_client_library() else None

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """The ASGI application itself."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = HttpRequest(scope, receive, send)
        try:
            body, headers = self._answer(request, scope["type"])
        except HttpRefusal as refusal:
            await request.refuse(refusal)
            return
        headers = {**_HEADERS, **headers, "content-length": str(len(body))}
        await request.respond(200, b"" if request.method == "HEAD" else body, headers)

    async def aclose(self, seconds: float = 0) -> None:
        """Nothing to end: no request takes long."""

    def facts(self) -> dict[str, Any]:
        """The snapshot that the page shows."""
        facts = self._traffic.snapshot()
        facts |= {"name": self._name, "time": time.time(), "memory_bytes": process_memory(os.getpid()), "processes": []}
        if self._snapshot is not None:
            snapshot = self._snapshot()
            facts["processes"] = msgspec.to_builtins(snapshot.processes)
            facts["process_starts"] = snapshot.totals.processes
            facts["sessions"] = _join(facts["sessions"], snapshot.sessions, facts["time"])
        return facts

    def _answer(self, request: HttpRequest, kind: str) -> tuple[bytes, dict[str, str]]:
        reason = self._origin_check.refuse(request)
        if reason is not None:
            raise HttpRefusal(403, reason)
        if kind == "websocket" or request.path not in ("/", "/status.json", "/metrics"):
            raise HttpRefusal(404, "not found")
        if request.method not in ("GET", "HEAD"):
            raise HttpRefusal(405, "only GET and HEAD", {"allow": "GET, HEAD"})
        if request.path == "/":
            return self._page, {"content-type": "text/html; charset=utf-8", "content-security-policy": self._policy}
        if request.path == "/status.json":
            return msgspec.json.encode(self.facts()), {"content-type": "application/json"}
        if self._metrics is None:
            raise HttpRefusal(501, f"metrics need the extra `metrics`: {install_command('metrics')}")
        body, content_type = self._metrics.text(request.header("accept") or "")
        return body, {"content-type": content_type}


def _join(sessions: list[dict[str, Any]], known: Sequence[SessionStatus], now: float) -> list[dict[str, Any]]:
    """The sessions of the traffic with their processes, and those that nobody is connected to."""
    joined = {session["id"]: session for session in sessions}
    for status in known:
        session = joined.setdefault(
            status.id,
            {
                "id": status.id,
                "waits_for": None,
                "seconds": now - status.since,
                "turns": 0,
                "connections": status.clients,
            },
        )
        session |= {"pid": status.pid, "user": status.user}
        if "state" not in session or status.state == "asleep":
            session["state"] = status.state
    return list(joined.values())


def _page() -> tuple[bytes, str]:
    """The page, and the policy that lets it run its own script and style, load its data, and do nothing else."""
    page = files("accord.telemetry").joinpath("status_page.html").read_bytes()
    hashes: dict[bytes, list[str]] = {b"script": [], b"style": []}
    for name, content in _INLINE.findall(page):
        hashes[name].append(f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'")
    policy = (
        f"default-src 'none'; script-src {' '.join(hashes[b'script'])}; style-src {' '.join(hashes[b'style'])}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy


async def _lifespan(receive: AsgiReceive, send: AsgiSend) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
