"""Refuses requests that a web page of someone else makes through the user's browser.

A page can reach a server on this machine by its address, or by a name of its own that it points here (DNS rebinding). The
browser tells the page's origin in `Origin`, and the name in `Host`. Programs send no `Origin`.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from accord.transports.http_request import HttpRequest

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class OriginCheck:
    """Accepts the names of loopback and `hosts`, and pages of the server itself and of `origins`."""

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = {*LOOPBACK_NAMES, *(host.lower().strip("[]") for host in hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    def refuse(self, request: HttpRequest) -> str | None:
        """The reason to refuse the request; None to accept it."""
        hosts, origins = request.header_values("host"), request.header_values("origin")
        if len(hosts) != 1 or _host_name(hosts[0]) not in self._hosts:
            return "this server does not have the name in the Host header"
        if not origins:
            return None
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in _web_schemes(request.scheme)}
        if len(origins) > 1 or origins[0].lower() not in own | self._origins:
            return "web pages of this origin may not connect"
        return None


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _web_schemes(scheme: str) -> tuple[str, ...]:
    return ("https",) if scheme in ("https", "wss") else ("http",)
