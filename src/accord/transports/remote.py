"""A connection to an agent by its URL: over WebSocket where the server offers it, over HTTP otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit, urlunsplit

from accord.errors import ConnectionClosed
from accord.transports.framing import FRAME_LIMIT
from accord.transports.http_client import HttpTransport
from accord.transports.http_request import LOOPBACK_NAMES, SECRET_PARAMETERS
from accord.transports.transport import Receiver, Transport
from accord.transports.websocket import RESUME_SECONDS, WebSocketRefused, WebSocketTransport

Profile: TypeAlias = Literal["auto", "http", "websocket"]

_SCHEMES = ("http", "https", "ws", "wss")


class RemoteTransport:
    """Chooses when it is opened. A `ws` or `wss` URL is a WebSocket; of an `http` or `https` URL, `profile` decides.

    ValueError for a URL that is none, or would send a password in the clear.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        profile: Profile = "auto",
        frame_limit: int = FRAME_LIMIT,
        resume_seconds: float = RESUME_SECONDS,
    ) -> None:
        self._headers = dict(headers or {})
        self._profile: Profile = profile
        self._frame_limit = frame_limit
        self._resume_seconds = resume_seconds
        self._url, self._is_websocket_only = _check_url(url, self._headers)
        self._inner: Transport | None = None
        self._is_closed = False

    async def open(self, receiver: Receiver) -> None:
        """Connect; ConnectionClosed if nothing can be reached."""
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")
        if self._is_websocket_only or self._profile != "http":
            try:
                await self._open(self._websocket(), receiver)
            except WebSocketRefused:
                if self._is_websocket_only or self._profile == "websocket":
                    raise
            else:
                return
        await self._open(HttpTransport(self._url, **self._options()), receiver)

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        raise ConnectionClosed("the connection is not open yet", kind="not_open")

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        if self._inner is not None:
            self._inner.pause_receiving()

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        if self._inner is not None:
            self._inner.resume_receiving()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` and not yet passed on."""
        return 0 if self._inner is None else self._inner.unsent

    async def aclose(self) -> None:
        """Safe to call twice, and from any task."""
        self._is_closed = True
        if self._inner is not None:
            await self._inner.aclose()

    def _websocket(self) -> WebSocketTransport:
        scheme, separator, rest = self._url.partition("://")
        url = f"{scheme.replace('http', 'ws')}{separator}{rest}"
        return WebSocketTransport(url, **self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "headers": self._headers,
            "frame_limit": self._frame_limit,
            "resume_seconds": self._resume_seconds,
        }

    async def _open(self, inner: Transport, receiver: Receiver) -> None:
        await inner.open(receiver)
        self._inner = inner
        self.send = inner.send  # the hot path: without a call in between


def _check_url(url: str, headers: Mapping[str, str]) -> tuple[str, bool]:
    """The complete URL, and whether it is that of a WebSocket."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise ValueError(f"invalid URL {url!r}: expected one that begins with https://, http://, wss:// or ws://")
    if "@" in parts.netloc or not parse_qs(parts.query).keys().isdisjoint(SECRET_PARAMETERS):
        raise ValueError("a URL must not have a password or a token in it: give the token, or send a header")
    is_plain = parts.scheme in ("http", "ws") and parts.hostname not in LOOPBACK_NAMES
    if is_plain and any(name.lower() in ("authorization", "cookie") for name in headers):
        raise ValueError(f"refused to send a password to {parts.hostname} without TLS: use https:// or wss://")
    path = parts.path if parts.path not in ("", "/") else "/acp"
    return urlunsplit(parts._replace(path=path, fragment="")), parts.scheme in ("ws", "wss")
