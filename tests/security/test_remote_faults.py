"""Clients that are slow, broken or hostile, at a real server: each is ended or refused, and the others are served on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosedError

from accord import Agent, Client, Remote, Turn
from accord.agent.asgi import AgentApplication
from accord.transports import web_server
from accord.transports.http_server import HttpLimits
from accord.transports.remote import Profile
from tests.agent.test_asgi import initialize
from tests.asgi_driver import until
from tests.client.test_remote import served

HOST = b"host: 127.0.0.1\r\n"
NEW: dict[str, Any] = {"cwd": "/tmp", "mcpServers": []}
JSON = b"content-type: application/json\r\n"


def new_app(**limits: Any) -> AgentApplication:
    agent = Agent("small", slow_loop_seconds=None, merge_seconds=0.0)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "flood":
            for number in range(200):
                await turn.say(f"{number} " + "x" * 100_000)
        else:
            await turn.say(turn.text)

    return agent.asgi(limits=HttpLimits(**limits))


@asynccontextmanager
async def raw_socket(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**20)
    try:
        yield reader, writer
    finally:
        writer.close()


async def head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of a response."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return int(lines[0].split()[1]), headers


async def open_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Initialize over HTTP; the connection's id."""
    body = json.dumps(initialize()).encode()
    writer.write(b"POST /acp HTTP/1.1\r\n" + HOST + JSON + b"content-length: %d\r\n\r\n" % len(body) + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
    await reader.readexactly(int(headers["content-length"]))
    return headers["acp-connection-id"]


async def works(url: str, profile: Profile = "http") -> bool:
    """Whether another client is served."""
    async with Client(Remote(url, profile=profile)) as client:
        session = await client.new_session(cwd="/tmp")
        return (await session.prompt("Hello")).text == "Hello"


@pytest.mark.parametrize(
    "path",
    [
        "/acp/",
        "//acp",
        "/acp%2f..",
        "/acp/..",
        "/./acp",
        "/x/../acp",
        "/ACP",
        "/acp;x",
        "/acp%00",
        "/%2facp",
        "/acp%20",
    ],
)
async def test_other_spellings_of_the_path_are_404(path: str):
    body = json.dumps(initialize()).encode()
    app = new_app()
    async with served(app) as url, raw_socket(url) as (reader, writer):
        request = f"POST {path} HTTP/1.1\r\n".encode() + HOST + JSON + b"content-length: %d\r\n\r\n" % len(body) + body
        writer.write(request)
        assert (await head(reader))[0] in (400, 404)
        assert app.connections == 0


@pytest.mark.parametrize(
    "request_head",
    [
        b"POST /acp HTTP/1.1\r\n" + HOST + b"x-long: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST /acp HTTP/1.1\r\n" + HOST + b"".join(b"x-%d: x\r\n" % number for number in range(20_000)) + b"\r\n",
        b"GET /acp?" + b"x" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"\x00" * 100_000,
    ],
    ids=["header", "headers", "query", "path", "nothing"],
)
async def test_a_head_that_is_too_long_is_refused(request_head: bytes):
    app = new_app()
    async with served(app) as url:
        async with raw_socket(url) as (reader, writer):
            writer.write(request_head)
            answer = await asyncio.wait_for(reader.read(), 30)
            assert answer == b"" or answer.split()[1][:1] == b"4"
        assert app.connections == 0
        assert await works(url)


async def test_a_body_that_never_comes_is_408_and_others_are_served():
    app = new_app(body_seconds=0.3)
    async with served(app) as url, raw_socket(url) as (reader, writer):
        writer.write(b"POST /acp HTTP/1.1\r\n" + HOST + JSON + b"content-length: 1000\r\n\r\n{")
        assert await works(url)
        assert (await asyncio.wait_for(head(reader), 30))[0] == 408
        assert app.connections == 0


async def test_a_head_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_server, "_IDLE_SECONDS", 0.3)
    async with served(new_app()) as url, raw_socket(url) as (reader, writer):
        writer.write(b"POST /acp HTTP/1.1\r\n" + HOST)
        assert await works(url)
        assert await asyncio.wait_for(reader.read(), 30) == b""


async def test_a_socket_ends_when_it_is_idle_after_requests_but_not_while_one_is_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_server, "_IDLE_SECONDS", 0.3)
    app = new_app(body_seconds=1.0)
    request = b"DELETE /acp HTTP/1.1\r\n" + HOST + b"content-length: 0\r\n\r\n"
    async with served(app) as url, raw_socket(url) as (reader, writer), raw_socket(url) as (slow_reader, slow_writer):
        slow_writer.write(b"POST /acp HTTP/1.1\r\n" + HOST + JSON + b"content-length: 1000\r\n\r\n{")
        for _ in range(3):
            writer.write(request)
            status, headers = await asyncio.wait_for(head(reader), 30)
            await reader.readexactly(int(headers["content-length"]))
            assert status == 400
        assert await asyncio.wait_for(reader.read(), 30) == b""
        assert (await asyncio.wait_for(head(slow_reader), 30))[0] == 408


async def test_a_stream_that_is_never_read_ends_and_others_are_served():
    app = new_app(unread_seconds=0.4, close_seconds=0.2)
    async with served(app) as url, raw_socket(url) as (reader, writer), raw_socket(url) as (events, asking):
        connection = (await open_connection(reader, writer)).encode()
        common = HOST + b"acp-connection-id: " + connection + b"\r\n"
        asking.write(b"GET /acp HTTP/1.1\r\n" + common + b"accept: text/event-stream\r\n\r\n")
        await post(reader, writer, common, {"id": 2, "method": "session/new", "params": NEW})
        while b"data: " not in (line := await events.readline()):
            pass
        session = json.loads(line.removeprefix(b"data: "))["result"]["sessionId"]
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "flood"}]}
        common += b"acp-session-id: " + session.encode() + b"\r\n"
        async with raw_socket(url) as (_, silent):
            silent.write(b"GET /acp HTTP/1.1\r\n" + common + b"accept: text/event-stream\r\n\r\n")
            await post(reader, writer, common, {"id": 3, "method": "session/prompt", "params": params})
            assert await works(url)
            await until(lambda: app.connections == 0)


@pytest.mark.parametrize("headers", [{}, {"acp-resume": "1"}], ids=["once", "resumable"])
async def test_a_websocket_that_is_never_read_ends_and_others_are_served(headers: dict[str, str]):
    app = new_app(unread_seconds=0.4, close_seconds=0.2)
    async with served(app) as url:
        address = url.replace("http:", "ws:")
        async with connect_websocket(address, proxy=None, additional_headers=headers, close_timeout=0.2) as socket:
            await socket.send(json.dumps(initialize()))
            await socket.recv()
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": NEW}))
            session = json.loads(await socket.recv())["result"]["sessionId"]
            params = {"sessionId": session, "prompt": [{"type": "text", "text": "flood"}]}
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params}))
            socket.transport.pause_reading()
            assert await works(url, "websocket")
            await until(lambda: app.connections == 0)
            socket.transport.abort()


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, common: bytes, message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    writer.write(b"POST /acp HTTP/1.1\r\n" + common + JSON + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert (await head(reader))[0] == 202


@pytest.mark.parametrize("protocol", ["http", "h2"])
async def test_a_message_over_the_limit_is_refused_by_its_length(protocol: str):
    app = new_app(body_bytes=1000)
    async with (
        served(app) as url,
        httpx2.AsyncClient(http1=protocol == "http", http2=protocol == "h2", timeout=60) as client,
    ):
        body = json.dumps({**initialize(), "x": "x" * 200_000})
        answer = await client.post(url, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert app.connections == 0


async def test_a_websocket_message_over_the_limit_closes_with_1009():
    app = new_app(body_bytes=1000)
    async with served(app) as url:
        async with connect_websocket(url.replace("http:", "ws:"), proxy=None) as socket:
            await socket.send(json.dumps({**initialize(), "x": "x" * 200_000}))
            with pytest.raises(ConnectionClosedError) as closed:
                await asyncio.wait_for(socket.recv(), 30)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
        await until(lambda: app.connections == 0)
        assert await works(url, "websocket")


class Http2Client:
    """HTTP/2 frame by frame, so that one stream can be reset."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._frames = H2Connection(H2Configuration(header_encoding="utf-8"))
        self._frames.initiate_connection()
        self.headers: dict[int, dict[str, str]] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def send(self, method: str, headers: dict[str, str], message: Any = None) -> int:
        """Send a request; the id of its stream."""
        stream = self._frames.get_next_available_stream_id()
        pseudo = {":method": method, ":path": "/acp", ":scheme": "http", ":authority": "127.0.0.1"}
        self._frames.send_headers(stream, [*pseudo.items(), *headers.items()], end_stream=message is None)
        if message is not None:
            self._frames.send_data(stream, json.dumps({"jsonrpc": "2.0", **message}).encode(), end_stream=True)
        self.bodies[stream] = b""
        return stream

    def reset(self, stream: int) -> None:
        self._frames.reset_stream(stream)

    async def until(self, condition: Callable[[], object]) -> None:
        """Send and receive until something is there; at the end of the connection it never will."""
        while not condition():
            self._writer.write(self._frames.data_to_send())
            data = await self._reader.read(65536)
            assert data, "the connection ended"
            for event in self._frames.receive_data(data):
                if isinstance(event, ResponseReceived):
                    self.headers[event.stream_id] = cast("dict[str, str]", dict(event.headers))
                elif isinstance(event, DataReceived):
                    self.bodies[event.stream_id] += event.data
                elif isinstance(event, StreamEnded):
                    self.ended.add(event.stream_id)
        self._writer.write(self._frames.data_to_send())

    async def call(self, method: str, headers: dict[str, str], message: Any = None) -> dict[str, str]:
        """Send a request and read its whole response; the headers."""
        stream = self.send(method, headers, message)
        await self.until(lambda: stream in self.ended)
        return self.headers[stream]


async def test_one_stream_of_http_2_is_reset_and_the_others_live():
    app = new_app()
    async with served(app) as url, raw_socket(url) as (reader, writer), asyncio.timeout(60):
        client, content = Http2Client(reader, writer), {"content-type": "application/json"}
        first = await client.call("POST", content, initialize())
        common = {"acp-connection-id": first["acp-connection-id"]}
        events = {**common, "accept": "text/event-stream"}
        stream = client.send("GET", events)
        await client.call("POST", {**common, **content}, {"id": 2, "method": "session/new", "params": NEW})
        await client.until(lambda: b"sessionId" in client.bodies[stream])
        session = json.loads(client.bodies[stream].partition(b"data: ")[2].splitlines()[0])["result"]["sessionId"]
        events["acp-session-id"] = common["acp-session-id"] = session
        other = client.send("GET", events)
        await client.until(lambda: client.bodies[other])
        client.reset(other)
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "Hello"}]}
        message = {"id": 3, "method": "session/prompt", "params": params}
        assert (await client.call("POST", {**common, **content}, message))[":status"] == "202"
        again = client.send("GET", {**events, "last-event-id": "0"})
        await client.until(lambda: b"end_turn" in client.bodies[again])
        assert stream not in client.ended
        assert app.connections == 1
