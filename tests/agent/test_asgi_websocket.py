"""The rules of the WebSocket on the agent's endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import pytest

from accord.agent.asgi import AgentApplication
from accord.dialects.negotiation import ProtocolVersion
from accord.transports.http_application import HttpApplication
from accord.transports.http_server import HttpLimits
from tests.agent.test_asgi import initialize, new_agent, prompt
from tests.asgi_driver import Driver, Socket


@pytest.fixture
async def app() -> AsyncIterator[AgentApplication]:
    app = new_agent().asgi()
    yield app
    await app.aclose()


async def connect(app: AgentApplication, version: ProtocolVersion) -> Socket:
    socket = Driver(app).websocket()
    accepted = await socket.received()
    assert accepted["type"] == "websocket.accept"
    assert dict(accepted["headers"])[b"acp-connection-id"]
    socket.send(initialize(version))
    assert "result" in await socket.received()
    return socket


@pytest.fixture
async def socket(app: AgentApplication, version: ProtocolVersion) -> Socket:
    return await connect(app, version)


async def new_session(socket: Socket) -> str:
    socket.send({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}})
    while (message := await socket.received()).get("id") != 2:
        pass
    return message["result"]["sessionId"]


async def closed(socket: Socket) -> Any:
    while (event := await socket.received()).get("type") != "websocket.close":
        pass
    return event


async def test_a_prompt_runs_on_one_socket(socket: Socket):
    session_id = await new_session(socket)
    socket.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, "hello")})
    texts = []
    while "You said hello." not in "".join(texts) or '"id": 3' not in "".join(texts):
        texts.append(str(await socket.received()).replace("'", '"'))


@pytest.mark.parametrize(
    "first",
    [
        "no JSON",
        "[]",
        {"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {}},
        {"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": 1}},
    ],
)
async def test_a_first_message_that_is_not_initialize_closes_with_1002(app: AgentApplication, first: Any):
    socket = Driver(app).websocket()
    await socket.received()
    socket.send(first)
    assert (await closed(socket))["code"] == 1002
    await socket.disconnect()
    assert app.connections == 0


async def test_a_client_that_does_not_initialize_is_closed():
    app = new_agent().asgi(limits=HttpLimits(initialize_seconds=0.02))
    socket = Driver(app).websocket()
    assert (await closed(socket))["code"] == 1008


@pytest.mark.bad_frames
async def test_what_is_no_message_is_answered_and_the_socket_lives(socket: Socket):
    socket.send("no JSON")
    assert (await socket.received())["error"]["code"] == -32700
    socket.send("12")
    assert (await socket.received())["error"]["code"] == -32600
    socket.send_bytes(b"ignored")
    await new_session(socket)


@pytest.mark.parametrize("version", [2])
@pytest.mark.bad_frames
async def test_a_batch_is_an_invalid_request_in_published_v2(socket: Socket):
    socket.send([{"jsonrpc": "2.0", "id": 7, "method": "session/list", "params": {}}])
    answer = await socket.received()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.bad_frames
async def test_a_batch_is_served_where_the_version_has_batches(socket: Socket):
    socket.send([{"jsonrpc": "2.0", "id": 7, "method": "_acme/unknown"}])
    answer: Any = await socket.received()
    assert answer[0]["id"] == 7


@pytest.mark.parametrize("version", [1, 2])
async def test_a_second_initialize_is_an_invalid_request(socket: Socket, version: ProtocolVersion):
    await new_session(socket)
    socket.send(initialize(version, 9))
    assert (await socket.received())["error"]["code"] == -32600


@pytest.mark.bad_frames
async def test_a_message_over_the_limit_is_refused_and_the_socket_lives(version: ProtocolVersion):
    app = new_agent().asgi(limits=HttpLimits(body_bytes=1000))
    socket = await connect(app, version)
    socket.send(" " * 1001)
    assert (await socket.received())["error"]["code"] == -32700
    await new_session(socket)
    await app.aclose()


async def test_disconnecting_ends_the_turn_and_the_connection(app: AgentApplication, socket: Socket):
    session_id = await new_session(socket)
    socket.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, "wait")})
    await socket.disconnect()
    assert app.connections == 0


async def test_shutdown_ends_turns_and_closes_with_1001(app: AgentApplication, socket: Socket):
    session_id = await new_session(socket)
    socket.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, "wait")})
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(app.aclose())
    assert (await closed(socket))["code"] == 1001
    await closing


async def test_a_failure_of_the_server_closes_with_1011_and_tells_nothing_of_it(caplog: pytest.LogCaptureFixture):
    go = asyncio.Event()

    async def fail(transport: Any) -> None:
        await transport.open(Mock())
        await go.wait()
        raise LookupError("the password of the database is sesame")

    socket = Driver(HttpApplication(fail)).websocket()
    assert (await socket.received())["type"] == "websocket.accept"
    go.set()
    event = await closed(socket)
    assert (event["code"], "sesame" in event["reason"]) == (1011, False)
    assert "sesame" in caplog.text


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
async def test_a_foreign_page_is_refused(app: AgentApplication, headers: dict[str, str]):
    socket = Driver(app).websocket(headers)
    assert (await socket.received())["type"] == "websocket.close"


async def test_another_path_is_refused(app: AgentApplication):
    assert (await Driver(app).websocket(path="/other").received())["type"] == "websocket.close"


async def test_a_http_request_cannot_use_the_connection_of_a_socket(app: AgentApplication):
    socket = Driver(app).websocket()
    accepted = await socket.received()
    connection_id = dict(accepted["headers"])[b"acp-connection-id"].decode()
    assert (await Driver(app).stream({"acp-connection-id": connection_id})).status == 404


async def test_a_storm_of_connections_leaves_nothing_behind():
    agent = new_agent()
    app = agent.asgi(limits=HttpLimits(connections=20))
    refused = 0

    async def attempt(number: int) -> None:
        nonlocal refused
        socket = Driver(app).websocket()
        if (await socket.received())["type"] == "websocket.close":
            refused += 1
            return
        if number % 2:
            socket.send(initialize())
        await socket.disconnect()

    for start in range(0, 1000, 100):
        await asyncio.gather(*(attempt(number) for number in range(start, start + 100)))
        assert app.connections == 0
    assert refused > 0
    assert agent.sessions.summaries() == []
    before = len(asyncio.all_tasks())
    await app.aclose()
    assert len(asyncio.all_tasks()) == before == 1
