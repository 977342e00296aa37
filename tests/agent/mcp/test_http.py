from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from mcp import ClientSession

from accord import Agent, Client, Turn
from accord.agent.mcp import ServerConnections, server_connection
from accord.errors import ConnectionClosed, RequestFailed
from accord.session.content import Text, text_of
from accord.session.mcp_servers import HttpServer, Pairs, SseServer
from tests.agent.mcp.canned import canned, response
from tests.agent.mcp.peers import Watcher, official_on_loopback, tool_of
from tests.agent.mcp.test_calls import EVERYTHING, a_call_under_way


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    with official_on_loopback("http") as http, official_on_loopback("sse") as sse:
        yield {"http": http, "sse": sse}


def server_at(kind: str, port: int, **headers: str) -> HttpServer | SseServer:
    if kind == "http":
        return HttpServer(name="web", url=f"http://127.0.0.1:{port}/mcp", headers=headers)
    return SseServer(name="web", url=f"http://127.0.0.1:{port}/sse", headers=headers)


@pytest.mark.requirement("CHECK-26", "CHECK-37")
@pytest.mark.parametrize("kind", ["http", "sse", "newer http"])
async def test_the_tools_of_a_server_on_the_network_are_called(
    connections: ServerConnections,
    watcher: Watcher,
    ports: dict[str, int],
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
):
    if kind == "newer http":  # as with a server that refuses the handshake of old
        monkeypatch.setattr(server_connection, "initialize", ClientSession.discover)
        kind = "http"
    (status,) = await connections.connect([server_at(kind, ports[kind])])
    assert status.is_connected
    assert (await connections.call(tool_of(connections, "everything"))).content == EVERYTHING.content
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    await connections.call(tool_of(connections, "count"), {"to": 3}, listen)
    assert heard == [1, 2, 3]
    before = len(connections.tools)
    call, _ = await a_call_under_way(connections)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await watcher.until(lambda: len(connections.tools) > before)
    await connections.aclose()
    assert watcher.statuses[-1].state == "closed"


@pytest.mark.requirement("CHECK-26", "CHECK-37", "SESS-08", "INIT-31", "INIT-32")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_an_agent_connects_to_the_server_on_the_network_that_a_client_names(ports: dict[str, int], kind: str):
    agent = Agent("user of tools")

    @agent.prompt
    async def use(turn: Turn) -> None:
        servers = await turn.servers()
        tool = next(tool for tool in servers.tools if tool.name == "large")
        result = await servers.call(tool, {"size": 3})
        await turn.say(text_of(result.content))

    async with Client(agent, version=1) as client:
        session = await client.new_session("/", [server_at(kind, ports[kind])])
        assert (await session.prompt("go")).text == "xxx"


async def test_a_large_result_comes_over_http(connections: ServerConnections, ports: dict[str, int]):
    await connections.connect([server_at("http", ports["http"])])
    result = await connections.call(tool_of(connections, "large"), {"size": 3_000_000})
    assert result.content == [Text("x" * 3_000_000)]


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_on_the_network_that_dies_fails_its_calls_and_is_reported(
    connections: ServerConnections, watcher: Watcher, kind: str
):
    with official_on_loopback(kind) as port:
        await connections.connect([server_at(kind, port)])
        add = tool_of(connections, "add")
        with pytest.raises(ConnectionClosed):
            await connections.call(tool_of(connections, "die"))
        await watcher.until(lambda: watcher.statuses[-1].state == "lost")
        with pytest.raises(ConnectionClosed, match="'web' is not connected"):
            await connections.call(add, {"a": 1, "b": 2})


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_killed_between_calls_is_reported_with_the_next(
    connections: ServerConnections, watcher: Watcher, kind: str
):
    with official_on_loopback(kind) as port:
        await connections.connect([server_at(kind, port)])
        add = tool_of(connections, "add")
    with pytest.raises(ConnectionClosed, match="'web' is not connected"):
        await connections.call(add, {"a": 1, "b": 2})
    assert watcher.statuses[-1].state == "lost"


ANSWERS = {
    "/401": response("401 Unauthorized", "who are you?"),
    "/404": response("404 Not Found"),
    "/500": response("500 Internal Server Error"),
    "/html": response("200 OK", "<html>Welcome</html>", "text/html"),
    "/json": response("200 OK", '{"hello": "there"}', "application/json"),
    "/moved": response("302 Found\r\nLocation: http://elsewhere.invalid/?token=secret"),
    "/hang-up": b"",
    "/refused": response(
        "400 Bad Request",
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: no licence"}}',
        "application/json",
    ),
}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/401", "HTTP status 401 Unauthorized"),
        ("/404", "HTTP status 404 Not Found"),
        ("/500", "HTTP status 500 Internal Server Error"),
        ("/html", "Unexpected content type: text/html"),
        ("/json", "Failed to parse JSON response"),
        ("/moved", "Redirect to http://elsewhere.invalid/ not followed"),
        ("/hang-up", "Server disconnected without sending a response"),
        ("/refused", "Bad Request: no licence"),
    ],
)
async def test_what_is_no_server_over_http_is_reported_with_what_it_answered(
    connections: ServerConnections, path: str, reason: str
):
    async with canned(lambda method, path: ANSWERS[path]) as (address, requests):
        server = HttpServer(name="web", url=f"{address}{path}", headers={"Authorization": "Bearer secret"})
        (status,) = await connections.connect([server])
    assert status.state == "failed"
    assert reason in status.reason
    assert "secret" not in str(status)
    assert "authorization: bearer secret" in requests[0].lower()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/401", "HTTP status 401 Unauthorized"),
        ("/500", "HTTP status 500 Internal Server Error"),
        ("/html", "text/event-stream"),
        ("/moved", "HTTP status 302 Found"),
        ("/hang-up", "Server disconnected without sending a response"),
    ],
)
async def test_what_is_no_server_over_sse_is_reported_with_what_it_answered(
    connections: ServerConnections, path: str, reason: str
):
    async with canned(lambda method, path: ANSWERS[path]) as (address, requests):
        server = SseServer(name="old", url=f"{address}{path}", headers={"Authorization": "Bearer secret"})
        (status,) = await connections.connect([server])
    assert status.state == "failed"
    assert reason in status.reason
    assert "secret" not in str(status)
    assert "authorization: bearer secret" in requests[0].lower()


async def test_an_sse_server_that_refuses_a_message_is_given_up_rather_than_waited_for(
    connections: ServerConnections,
):
    stream = response("200 OK", "event: endpoint\ndata: /messages\n\n", "text/event-stream")
    refusal = response("503 Service Unavailable")
    async with canned(lambda method, path: stream if method == "GET" else refusal) as (address, _):
        (status,) = await connections.connect([SseServer(name="old", url=f"{address}/sse")])
    assert (status.state, status.reason) == ("failed", "HTTP status 503 Service Unavailable")


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://127.0.0.1/", "http://", "http://[/", "http://127.0.0.1:1/?k=v"])
@pytest.mark.parametrize("kind", [HttpServer, SseServer])
async def test_an_address_that_leads_nowhere_is_a_status_and_no_exception(
    connections: ServerConnections, kind: type[HttpServer | SseServer], url: str
):
    (status,) = await connections.connect([kind(name="web", url=url)])
    assert status.state == "failed"
    assert status.reason
    assert "k=v" not in status.reason


@pytest.mark.parametrize("kind", [HttpServer, SseServer])
async def test_several_headers_of_one_name_are_all_sent(
    connections: ServerConnections, kind: type[HttpServer | SseServer]
):
    headers = Pairs([("X-Tenant", "one"), ("X-Tenant", "two")])
    async with canned(lambda method, path: ANSWERS["/401"]) as (address, requests):
        await connections.connect([kind(name="web", url=address, headers=headers)])
    assert [line for line in requests[0].lower().splitlines() if line.startswith("x-tenant")] == [
        "x-tenant: one",
        "x-tenant: two",
    ]


async def test_a_header_that_cannot_be_sent_is_a_status_and_no_exception(connections: ServerConnections):
    server = HttpServer(name="web", url="http://127.0.0.1:1", headers={"X": "a\r\nb: secret"})
    (status,) = await connections.connect([server])
    assert status.state == "failed"
    assert "secret" not in str(status)


@asynccontextmanager
async def refusing_calls(status: str) -> AsyncIterator[HttpServer]:
    """A server with one tool, that answers a call of it with a status and nothing else."""
    initialized = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    tools = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
    replies = iter(
        [
            response("200 OK\r\nMcp-Session-Id: abc", result(1, initialized), "application/json"),
            response("202 Accepted"),
            response("200 OK", result(2, tools), "application/json"),
            response(status),
        ]
    )

    def reply(method: str, path: str) -> bytes:
        return next(replies) if method == "POST" else response("405 Method Not Allowed")

    async with canned(reply) as (address, _):
        yield HttpServer(name="web", url=f"{address}/mcp")


def result(number: int, value: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": value})


async def test_a_server_that_has_forgotten_the_session_is_lost(connections: ServerConnections):
    async with refusing_calls("404 Not Found") as server:
        await connections.connect([server])
        with pytest.raises(ConnectionClosed, match="HTTP status 404 Not Found"):
            await connections.call(tool_of(connections, "act"))
    assert connections.statuses[0].state == "lost"


async def test_a_call_refused_with_a_status_says_which(connections: ServerConnections):
    async with refusing_calls("503 Service Unavailable") as server:
        await connections.connect([server])
        with pytest.raises(RequestFailed, match="HTTP status 503 Service Unavailable"):
            await connections.call(tool_of(connections, "act"))
    assert connections.statuses[0].is_connected


async def test_a_refusal_over_http_is_in_the_servers_own_words(connections: ServerConnections, ports: dict[str, int]):
    await connections.connect([server_at("http", ports["http"])])
    with pytest.raises(RequestFailed) as refused:
        await connections.call(tool_of(connections, "refuse"))
    assert refused.value.to_error() == (-32000, "not today", {"until": "tomorrow"})
