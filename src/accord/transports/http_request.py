"""One HTTP request in ASGI: its headers and body, where it may come from, who sent it, and the response.

A page of someone else can reach a server on this machine through the user's browser: by its address, or by a name of its
own that it points here (DNS rebinding). The browser tells the page's origin in `Origin`, and the name in `Host`. Programs
send no `Origin`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec

from accord.errors.local_errors import HttpRefusal
from accord.transports.asgi_link import AsgiMessage, AsgiReceive, AsgiSend
from accord.transports.transport import Identity

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SECRET_PARAMETERS = ("token", "access_token", "api_key")
"""In the query of a URL these are secrets, which end up in logs and histories."""

_REFUSED_BODY_SECONDS = 5.0
_TOKEN_LIMIT = 1024  # characters


class HttpRequest:
    """A request, or the handshake of a WebSocket."""

    def __init__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        self.method: str = scope.get("method", "GET")
        self.scheme: str = scope.get("scheme", "http")
        self.path = _own_path(scope)
        self._scope = scope
        self._receive = receive
        self._send = send
        self._has_body = False
        self._headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self._headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip())

    @property
    def user(self) -> Any:
        """The user that a middleware in front of the application has set; None without one."""
        return self._scope.get("user")

    @property
    def client_address(self) -> str | None:
        """Where the request comes from: a client, or a proxy in front of this server."""
        client = self._scope.get("client")
        return str(client[0]) if client else None

    @property
    def extensions(self) -> Mapping[str, Any]:
        """The extensions of ASGI that the server offers."""
        return self._scope.get("extensions") or {}

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters of the URL."""
        if not self._scope.get("query_string"):
            return {}
        return parse_qs(bytes(self._scope.get("query_string", b"")).decode("latin-1"), keep_blank_values=True)

    def header_values(self, name: str) -> list[str]:
        return self._headers.get(name, [])

    def header(self, name: str) -> str | None:
        """The value of a header; None without it. A repeated one has the values joined, so that it fits nothing."""
        values = self._headers.get(name)
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    def accepts(self, media_type: str) -> bool:
        """Whether the client accepts an answer of this type; it does if it does not say."""
        accept = self.header("accept")
        if accept is None:
            return True
        ranges = {entry.partition(";")[0].strip().lower() for entry in accept.split(",")}
        return not ranges.isdisjoint({media_type, f"{media_type.partition('/')[0]}/*", "*/*"})

    async def read_body(self, limit: int, seconds: float) -> bytes:
        """The whole body; refuses one that is too long, too slow, or cut off."""
        length = self.header("content-length") or ""
        if length.isdecimal() and int(length) > limit:
            raise HttpRefusal(413, f"the body is longer than {limit} bytes")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while not self._has_body:
                    message = await self._next()
                    size += len(message.get("body", b""))
                    if size > limit:
                        raise HttpRefusal(413, f"the body is longer than {limit} bytes")
                    pieces.append(message.get("body", b""))
        except TimeoutError:
            raise HttpRefusal(408, f"the body took longer than {seconds:g} s") from None
        return b"".join(pieces)

    async def _next(self) -> AsgiMessage:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._has_body = True
            raise HttpRefusal(499, "the client left")
        self._has_body = not message.get("more_body", False)
        return message

    async def wait_disconnected(self) -> None:
        """Returns when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def respond(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """The whole response."""
        await self.start(status, {"content-length": str(len(body)), **(headers or {})})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def send_body(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end_body(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def refuse(self, refusal: HttpRefusal) -> None:
        """Respond with the status of the refusal; a WebSocket is refused with it where the server can do that."""
        body = msgspec.json.encode({"error": refusal.reason})
        headers = {"content-type": "application/json", **refusal.headers}
        if self._scope["type"] == "websocket":
            await self._refuse_websocket(refusal, body, headers)
            return
        if refusal.status != 408:
            await self._skip_body()
        if refusal.status != 499:
            await self.respond(refusal.status, body, headers)

    async def _refuse_websocket(self, refusal: HttpRefusal, body: bytes, headers: Mapping[str, str]) -> None:
        if "websocket.http.response" not in self.extensions:
            await self._send({"type": "websocket.close"})
            return
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "websocket.http.response.start", "status": refusal.status, "headers": encoded})
        await self._send({"type": "websocket.http.response.body", "body": body, "more_body": False})

    async def _skip_body(self) -> None:
        """Read what is left, for a while: Hypercorn drops a client that is answered before it has sent everything."""
        try:
            async with asyncio.timeout(_REFUSED_BODY_SECONDS):
                while not self._has_body:
                    await self._next()
        except (HttpRefusal, TimeoutError):
            pass


def _own_path(scope: AsgiMessage) -> str:
    """The path below the one that the application is mounted at."""
    path, root = str(scope.get("path", "")), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


class OriginCheck:
    """Accepts the names of loopback and `hosts`, where `*` is every name; and pages of the server itself and of `origins`."""

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = {*LOOPBACK_NAMES, *(host.lower().strip("[]") for host in hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    def refuse(self, request: HttpRequest) -> str | None:
        """The reason to refuse the request; None to accept it."""
        hosts, origins = request.header_values("host"), request.header_values("origin")
        if len(hosts) != 1 or ("*" not in self._hosts and _host_name(hosts[0]) not in self._hosts):
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


class Authenticator(Protocol):
    """Knows the tokens of users."""

    def identify(self, token: str) -> Identity | None:
        """Whose token it is; None for one that is unknown, expired or revoked."""
        ...

    def is_valid(self, identity: Identity) -> bool:
        """Whether a token that was accepted earlier would be accepted now."""
        ...


class UserCheck:
    """Finds out who sent a request: the user that a middleware has set, or the owner of the bearer token.

    Without an authenticator and without a middleware everybody is accepted, as nobody in particular.
    """

    def __init__(self, authenticator: Authenticator | None) -> None:
        self._authenticator = authenticator

    def identify(self, request: HttpRequest) -> Identity | None:
        """Who it is; refuses with 401 whoever has to say it and does not, and with 400 a secret in the URL."""
        if not request.query.keys().isdisjoint(SECRET_PARAMETERS):
            raise HttpRefusal(400, "tokens in URLs are not accepted: send the header Authorization")
        name = _user_name(request.user)
        if name is not None:
            return Identity(name)
        if self._authenticator is None:
            if request.user is None:
                return None
            raise HttpRefusal(401, "authentication required")
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        token = token.strip()
        identity = None
        if scheme.lower() == "bearer" and 0 < len(token) <= _TOKEN_LIMIT:
            identity = self._authenticator.identify(token)
        if identity is None:
            challenge = "Bearer" if not scheme else 'Bearer error="invalid_token"'
            raise HttpRefusal(401, "a valid bearer token is required", {"www-authenticate": challenge})
        return identity

    def is_valid(self, identity: Identity | None) -> bool:
        """Whether who has connected may stay."""
        if self._authenticator is None or identity is None or identity.token is None:
            return True
        return self._authenticator.is_valid(identity)


def _user_name(user: Any) -> str | None:
    """The name of a user as middlewares represent it: a string, or an object with an identity, a username or a name."""
    if user is None or isinstance(user, str):
        return user or None
    if not getattr(user, "is_authenticated", True):
        return None
    for attribute in ("identity", "username", "display_name"):
        try:
            name = getattr(user, attribute, None)
        except NotImplementedError:  # Starlette's users need not have an identity
            continue
        if isinstance(name, str) and name:
            return name
    return None
