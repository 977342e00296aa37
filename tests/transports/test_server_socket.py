"""WebSockets of the web server: what is not allowed ends one, and everything else that RFC 6455 has is understood."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect as connect_websocket
from websockets.frames import Frame, Opcode

from accord.agent.asgi import AgentApplication
from accord.transports.http_server import HttpLimits
from accord.transports.server_socket import MessageSocket
from tests.agent.test_asgi import initialize, new_agent
from tests.asgi_driver import until
from tests.client.test_remote import served

HELLO = json.dumps(initialize()).encode()
TEXT, BINARY, CONT, PING, CLOSE = Opcode.TEXT, Opcode.BINARY, Opcode.CONT, Opcode.PING, Opcode.CLOSE


def frame(opcode: Opcode, data: bytes, *, fin: bool = True, mask: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=mask)


class RawSocket:
    """A WebSocket after its handshake, as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def frame(self) -> tuple[int, bytes]:
        """The next frame: its first byte and its content."""
        first, size = await self.reader.readexactly(2)
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        return first, await self.reader.readexactly(size)


@asynccontextmanager
async def raw_socket(url: str) -> AsyncIterator[RawSocket]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    key = base64.b64encode(b"k" * 16).decode()
    writer.write(
        f"GET /acp HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        f"sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n".encode()
    )
    try:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        yield RawSocket(reader, writer)
    finally:
        writer.close()


@pytest.fixture
def app() -> AgentApplication:
    return new_agent().asgi(limits=HttpLimits(body_bytes=100_000))


@pytest.fixture
async def url(app: AgentApplication) -> AsyncIterator[str]:
    async with served(app) as url:
        yield url


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(TEXT, HELLO, mask=False), 1002),
        (bytes((0xC1,)) + frame(TEXT, HELLO)[1:], 1002),
        (frame(CONT, b"x"), 1002),
        (bytes((0x09, 0x80)) + bytes(4), 1002),
        (bytes((0x89, 0xFE, 0, 126)) + bytes(130), 1002),
        (bytes((0x8B, 0x80)) + bytes(4), 1002),
        (frame(TEXT, b'{"\xff": 1}'), 1007),
        (frame(TEXT, b"x" * 100_001), 1009),
        (frame(TEXT, b"x" * 60_000, fin=False) + frame(CONT, b"x" * 60_000), 1009),
        (bytes((0x81, 0xFF)) + (2**62).to_bytes(8, "big") + b"x" * 10_000_000, 1009),
    ],
    ids=[
        "unmasked",
        "extension",
        "no-beginning",
        "part-of-ping",
        "long-ping",
        "unknown",
        "no-utf-8",
        "big",
        "big-parts",
        "huge",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_what_is_not_allowed_closes_the_socket_and_its_client_reads_why(
    app: AgentApplication, url: str, data: bytes, code: int, is_first: bool
):
    async with asyncio.timeout(60), raw_socket(url) as socket:
        if not is_first:
            socket.writer.write(frame(TEXT, HELLO))
            assert b'"result"' in (await socket.frame())[1]
        transport = cast("asyncio.Transport", socket.writer.transport)
        transport.pause_reading()  # some clients read only when they have sent everything
        socket.writer.write(data)
        await socket.writer.drain()
        transport.resume_reading()
        first, content = await socket.frame()
        assert (first, int.from_bytes(content[:2], "big")) == (0x88, code)
        assert await socket.reader.read() == b""
        socket.writer.close()
        await until(lambda: app.connections == 0)


async def test_a_message_in_parts_with_pings_between_them_is_read_from_single_bytes(url: str):
    async with asyncio.timeout(60), raw_socket(url) as socket:
        parts = frame(TEXT, HELLO[:20], fin=False), frame(PING, b"one"), frame(CONT, b"", fin=False), frame(PING, b"")
        for byte in b"".join(parts) + frame(CONT, HELLO[20:]):
            socket.writer.write(bytes((byte,)))
            await asyncio.sleep(0)
        assert await socket.frame() == (0x8A, b"one")
        assert await socket.frame() == (0x8A, b"")
        first, content = await socket.frame()
        assert first == 0x81
        assert "result" in json.loads(content)


async def test_a_client_that_closes_is_answered_and_what_it_sends_then_is_ignored(app: AgentApplication, url: str):
    async with asyncio.timeout(60), raw_socket(url) as socket:
        socket.writer.write(frame(TEXT, HELLO))
        await socket.frame()
        socket.writer.write(frame(CLOSE, (1000).to_bytes(2, "big")))
        socket.writer.write(frame(TEXT, b"no JSON"))
        assert (await socket.frame())[0] == 0x88
        assert await socket.reader.read() == b""
    await until(lambda: app.connections == 0)


async def test_compression_is_declined(url: str):
    async with connect_websocket(url.replace("http:", "ws:"), proxy=None, compression="deflate") as socket:
        assert socket.protocol.extensions == []
        await socket.send(HELLO.decode())
        assert "result" in json.loads(await socket.recv())


class FullTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return False


async def test_of_many_pings_that_came_while_there_was_no_room_the_last_is_answered():
    transport = FullTransport()
    socket = MessageSocket(cast("asyncio.Transport", transport), 1000, lambda data: None)
    socket.pause_writing()
    for number in range(1000):
        socket.receive(frame(PING, b"%d" % number))
    assert transport.written == []
    socket.resume_writing()
    assert transport.written == [frame(Opcode.PONG, b"999", mask=False)]
