"""An HTTP/1.1 client for servers without TLS, such as those on loopback: the part of httpx that `http_client` uses.

It takes a tenth of the time of httpx for a short request. It follows no redirects, knows no proxies, and asks for no
compression. Failures are OSErrors, and ConnectionRefusedError means that no server could be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from email.message import Message
from http.cookiejar import CookieJar
from typing import cast
from urllib.parse import urlsplit
from urllib.request import Request, getproxies, proxy_bypass

from accord.transports.http_response import ResponseReader
from accord.transports.streams import BufferedReader

_HIGH_WATER = 256 * 1024
_IDLE_SECONDS = 10.0
"""A connection is not used again after so long: the server may end it just then."""


def is_plain(url: str) -> bool:
    """Whether this client can be used for a URL: it needs neither TLS nor a proxy."""
    parts = urlsplit(url)
    proxies = getproxies()
    has_proxy = bool(proxies.get("http") or proxies.get("all"))
    return parts.scheme == "http" and (not has_proxy or bool(proxy_bypass(parts.netloc)))


class PlainHttp:
    """Requests to the server of one URL; connections are kept and used again."""

    def __init__(self, url: str, headers: Mapping[str, str], cookies: CookieJar, connect: float, read: float) -> None:
        parts = urlsplit(url)
        self._url = url
        self._address = parts.hostname or "", parts.port or 80
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        self._target = target.encode("ascii")
        self._headers = {"host": parts.netloc.rpartition("@")[2], **headers}
        self._cookies = cookies
        self._connect_seconds = connect
        self._read_seconds = read
        self._idle: list[_Connection] = []
        self._connections: set[_Connection] = set()

    @property
    def idle_connections(self) -> int:
        """How many connections wait for another request."""
        return sum(connection.is_usable for connection in self._idle)

    async def post(self, _url: str, *, content: bytes = b"", headers: Mapping[str, str]) -> PlainResponse:
        return await self._request(b"POST", headers, content)

    async def delete(self, _url: str, *, headers: Mapping[str, str]) -> PlainResponse:
        return await self._request(b"DELETE", headers, b"")

    @asynccontextmanager
    async def stream(
        self, method: str, _url: str, *, headers: Mapping[str, str], silence: float | None
    ) -> AsyncGenerator[PlainResponse]:
        """A response whose body is read while it comes, with pauses of so many seconds; its connection is not kept."""
        connection = await self._connect()
        try:
            async with asyncio.timeout(self._read_seconds):
                response = await connection.request(self._head(method.encode(), headers, None))
            response.silence = silence
            yield response
        finally:
            self._end(connection)

    async def aclose(self) -> None:
        for connection in list(self._connections):
            self._end(connection)

    async def _request(self, method: bytes, headers: Mapping[str, str], content: bytes) -> PlainResponse:
        connection = self._idle_connection() or await self._connect()
        try:
            async with asyncio.timeout(self._read_seconds):
                response = await connection.request(self._head(method, headers, content))
                await response.aread()
        except BaseException:
            self._end(connection)
            raise
        if response.cookies:
            self._keep_cookies(response.cookies)
        if connection.is_usable:
            self._idle.append(connection)
        else:
            self._end(connection)
        return response

    def _idle_connection(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            self._end(connection)
        return None

    def _end(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        if connection.transport is not None:
            connection.transport.abort()

    async def _connect(self) -> _Connection:
        host, port = self._address
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await asyncio.get_running_loop().create_connection(_Connection, host, port)
        except OSError as error:
            raise ConnectionRefusedError(f"cannot connect: {error}") from error
        self._connections.add(connection)
        return connection

    def _head(self, method: bytes, headers: Mapping[str, str], content: bytes | None) -> bytes:
        lines = {**self._headers, **headers}
        if len(self._cookies):
            request = Request(self._url)  # noqa: S310  # only for its cookies
            self._cookies.add_cookie_header(request)
            lines["cookie"] = request.get_header("Cookie", "")
        if content is not None:
            lines["content-length"] = str(len(content))
        text = "".join([f"{name}: {value}\r\n" for name, value in lines.items()])
        if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
            raise ConnectionError("a header has a line break in it")
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method, self._target, text.encode("latin-1", errors="replace"))
        return head + content if content else head

    def _keep_cookies(self, cookies: list[str]) -> None:
        message = Message()
        for cookie in cookies:
            message["Set-Cookie"] = cookie
        self._cookies.extract_cookies(_Info(message), Request(self._url))  # type: ignore[arg-type]  # noqa: S310


class _Info:
    """What a jar of cookies wants to know of a response."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def info(self) -> Message:
        return self._message


class PlainResponse(ResponseReader):
    """A response, with the names that httpx gives its parts."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(self._add)
        self.content = b""
        self.silence: float | None = None
        """How many seconds may pass without a byte."""
        self._transport = transport
        self._pieces: list[bytes] = []
        self._waiting = 0  # bytes in them
        self._changed = asyncio.Event()
        self._failure: Exception | None = None

    @property
    def is_error(self) -> bool:
        return self.status_code >= 400

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status_code < 400

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    async def aread(self) -> bytes:
        """The whole body."""
        if self.is_complete:  # as that of a short response mostly is
            self.content = b"".join(self._pieces)
            self._pieces = []
            self._transport.resume_reading()
            return self.content
        async with aclosing(self.aiter_bytes()) as pieces:
            self.content = b"".join([piece async for piece in pieces])
        return self.content

    async def aiter_bytes(self) -> AsyncGenerator[bytes]:
        """The body, as it comes."""
        while True:
            if self._pieces:
                pieces, self._pieces, self._waiting = self._pieces, [], 0
                self._transport.resume_reading()
                yield b"".join(pieces)
            elif self.is_complete:
                return
            else:
                await self.wait()

    async def wait(self) -> None:
        """Wait for more; OSError if there will be no more, or it does not come in time."""
        if self._failure is not None:
            raise self._failure
        self._changed.clear()
        async with asyncio.timeout(self.silence):
            await self._changed.wait()

    def receive(self, data: bytes | None, failure: Exception | None = None) -> None:
        """More bytes, or None at the end of the connection."""
        try:
            if data is not None:
                self.feed(data)
            elif not self.is_complete:
                self._failure = failure
                self.end()
        except ConnectionError as error:
            self._failure = self._failure or error
            self.keeps_alive = False
        self._changed.set()

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._waiting += len(piece)
        if self._waiting > _HIGH_WATER:
            self._transport.pause_reading()


class _Connection(BufferedReader):
    """A socket for one request after the other."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._response: PlainResponse | None = None
        self._is_lost = False
        self._loop = asyncio.get_running_loop()
        self._used_at = self._loop.time()

    @property
    def is_usable(self) -> bool:
        """Whether another request can be made."""
        if self._is_lost or self.transport is None or self.transport.is_closing():
            return False
        if self._loop.time() - self._used_at > _IDLE_SECONDS:
            return False
        return self._response is None or (self._response.is_complete and self._response.keeps_alive)

    async def request(self, data: bytes) -> PlainResponse:
        """Send a request; the response once its head is there."""
        assert self.transport is not None
        self._used_at = self._loop.time()
        response = self._response = PlainResponse(self.transport)
        self.transport.write(data)
        while not response.status_code:
            await response.wait()
        return response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._response is None:
            self._is_lost = True  # an answer to no question
        else:
            self._response.receive(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        if self._response is not None:
            self._response.receive(None, exc)
