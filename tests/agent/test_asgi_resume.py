"""The rules by which a connection is resumed: streams go on after an event, WebSockets after a number of frames."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord.agent.asgi import AgentApplication
from accord.local.token_file import TokenFile
from accord.transports.event_stream import EventParser
from accord.transports.http_server import HttpLimits
from tests.agent.test_asgi import connect, initialize, new_agent, prompt
from tests.asgi_driver import Driver, Response, Socket, until

RESUME = {"acp-resume": "1"}
NEW = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}}


@pytest.fixture
async def app() -> AsyncIterator[AgentApplication]:
    app = new_agent().asgi()
    yield app
    await app.aclose()


def last_id(response: Response) -> str:
    parser = EventParser()
    parser.feed(response.body)
    assert parser.event_id is not None
    return parser.event_id.decode()


async def test_a_stream_goes_on_after_the_last_event_of_the_client(app: AgentApplication):
    connection = await connect(app)
    for _ in range(3):
        await connection.new_session()
    ids = [event["id"] for event in connection.stream.events]
    assert (ids, last_id(connection.stream)) == ([2, 3, 4], "3")
    await connection.stream.disconnect()
    await connection.call("session/list", {})
    again = await connection.driver.stream({**connection.headers, "last-event-id": "1"})
    await again.event(2)
    assert [event["id"] for event in again.events] == [3, 4, 5]
    assert last_id(again) == "4"


async def test_a_stream_with_a_last_event_takes_over_and_the_other_one_ends(app: AgentApplication):
    connection = await connect(app)
    await connection.new_session()
    assert (await connection.driver.stream(connection.headers)).status == 409
    again = await connection.driver.stream({**connection.headers, "last-event-id": "1"})
    assert again.status == 200
    assert connection.stream.task is not None
    await connection.stream.task
    await connection.call("session/list", {})
    assert "result" in await again.event(0)
    assert len(connection.stream.events) == 1


async def test_a_session_stream_goes_on_too(app: AgentApplication):
    connection = await connect(app)
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    await connection.call("session/prompt", prompt(session_id, "hello"), session_id)
    await stream.until(lambda: any("result" in event for event in stream.events))
    events = stream.events
    await stream.disconnect()
    headers = {**connection.headers, "acp-session-id": session_id, "last-event-id": "1"}
    again = await connection.driver.stream(headers)
    await again.event(len(events) - 2)
    assert again.events == events[1:]


async def test_events_that_are_not_kept_are_410_and_the_connection_ends(app: AgentApplication):
    connection = await connect(app)
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    await connection.call("session/prompt", prompt(session_id, "x" * 100_000), session_id)
    await stream.until(lambda: any("result" in event for event in stream.events))
    await stream.disconnect()
    headers = {**connection.headers, "acp-session-id": session_id}
    assert (await connection.driver.stream({**headers, "last-event-id": "0"})).status == 410
    assert (await connection.driver.stream(headers)).status == 404
    await until(lambda: app.connections == 0)


async def test_an_event_that_was_never_sent_is_410(app: AgentApplication):
    connection = await connect(app)
    assert (await connection.driver.stream({**connection.headers, "last-event-id": "7"})).status == 410


async def test_a_message_that_is_sent_again_is_not_delivered_again(app: AgentApplication):
    connection = await connect(app)
    message = {"jsonrpc": "2.0", "id": 2, "method": "session/list", "params": {}}
    for sequence, id in (("1", 2), ("1", 2), ("2", 3), ("1", 2), ("2", 3)):
        headers = {**connection.headers, "acp-sequence": sequence}
        assert (await connection.driver.post({**message, "id": id}, headers)).status == 202
    await connection.call("session/list", {})
    await connection.stream.event(2)
    assert [event["id"] for event in connection.stream.events] == [2, 3, 2]


async def test_a_client_that_does_not_ask_gets_no_offer(app: AgentApplication):
    driver = Driver(app)
    assert "acp-resume" not in (await driver.post(initialize())).headers
    assert (await driver.post(initialize(), RESUME)).headers["acp-resume"] == "60"
    accepted = await driver.websocket().received()
    assert b"acp-resume" not in dict(accepted["headers"])


async def open_socket(app: Any, headers: dict[str, str] | None = None) -> tuple[Socket, str]:
    socket = Driver(app).websocket({**RESUME, **(headers or {})})
    accepted = dict((await socket.received())["headers"])
    assert accepted[b"acp-resume"] == b"60"
    socket.send(initialize())
    assert "result" in await socket.received()
    return socket, accepted[b"acp-connection-id"].decode()


async def list_sessions(socket: Socket, id: int) -> None:
    socket.send({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}})


async def test_a_websocket_goes_on_after_what_both_sides_have_received(app: AgentApplication):
    socket, id = await open_socket(app)
    await list_sessions(socket, 2)
    first = await socket.received()
    await socket.disconnect()
    assert app.connections == 1
    again = Driver(app).websocket({**RESUME, "acp-connection-id": id, "acp-received": "1"})
    accepted = dict((await again.received())["headers"])
    assert (accepted[b"acp-connection-id"].decode(), accepted[b"acp-received"]) == (id, b"2")
    assert await again.received() == first
    await list_sessions(again, 3)
    assert (await again.received())["id"] == 3


async def test_a_websocket_takes_over_while_the_other_is_half_open(app: AgentApplication):
    socket, id = await open_socket(app)
    again = Driver(app).websocket({**RESUME, "acp-connection-id": id, "acp-received": "1"})
    assert (await again.received())["type"] == "websocket.accept"
    assert socket.task is not None
    await socket.task
    await list_sessions(again, 2)
    assert (await again.received())["id"] == 2


async def refused(app: Any, headers: dict[str, str]) -> bool:
    return (await Driver(app).websocket({**RESUME, **headers}).received())["type"] == "websocket.close"


async def test_an_unknown_connection_and_an_impossible_count_are_refused(app: AgentApplication):
    socket, id = await open_socket(app)
    assert await refused(app, {"acp-connection-id": "guessed", "acp-received": "0"})
    assert await refused(app, {"acp-connection-id": id})
    assert await refused(app, {"acp-connection-id": id, "acp-received": "99"})
    http = await connect(app)
    assert await refused(app, {**http.headers, "acp-received": "0"})
    await list_sessions(socket, 2)
    assert (await socket.received())["id"] == 2


async def test_an_initialize_that_is_made_again_takes_the_place_of_the_first(app: AgentApplication):
    driver, key = Driver(app), {"acp-resume": "a-random-value-of-one-client"}
    first, second = [await driver.post(initialize(), key) for _ in range(2)]
    assert (first.status, second.status) == (200, 200)
    await until(lambda: app.connections == 1)
    for response, status in ((first, 404), (second, 200)):
        stream = await driver.stream({"acp-connection-id": response.headers["acp-connection-id"]})
        assert stream.status == status
    await driver.post(initialize(), RESUME)  # a value that another client may have, too
    await driver.post(initialize(), RESUME)
    assert app.connections == 3


async def test_a_storm_of_attempts_opens_no_connection(app: AgentApplication):
    await open_socket(app)
    for number in range(1000):
        assert await refused(app, {"acp-connection-id": f"guess{number}", "acp-received": "0"})
    assert app.connections == 1


@pytest.mark.parametrize("kind", ["websocket", "stream"])
async def test_a_storm_of_reconnects_of_one_client_opens_nothing_more(app: AgentApplication, kind: str):
    """FN-64: a session does not belong to a socket, so another socket opens no other session."""
    storm = int(os.environ.get("ACCORD_SEEDS", "10")) * 30
    if kind == "websocket":
        socket, id = await open_socket(app)
        socket.send(NEW)
        await socket.received()
        for _ in range(storm):
            socket = Driver(app).websocket({**RESUME, "acp-connection-id": id, "acp-received": "2"})
            assert (await socket.received())["type"] == "websocket.accept"
        await list_sessions(socket, 3)
        answer = await socket.received()
    else:
        http = await connect(app)
        stream = http.stream
        await http.driver.post(NEW, http.headers)
        await stream.event(0)
        for _ in range(storm):
            stream = await http.driver.stream({**http.headers, "last-event-id": "1"})
            assert stream.status == 200
        await http.driver.post({"jsonrpc": "2.0", "id": 3, "method": "session/list", "params": {}}, http.headers)
        answer = await stream.event(0)
    assert len(answer["result"]["sessions"]) == 1
    assert app.connections == 1


async def test_confirmed_frames_are_not_kept(app: AgentApplication):
    socket, id = await open_socket(app)
    await list_sessions(socket, 2)
    await socket.received()
    socket.send_bytes((2).to_bytes(8, "big"))
    await list_sessions(socket, 3)
    await socket.received()
    await socket.disconnect()
    assert await refused(app, {"acp-connection-id": id, "acp-received": "1"})


async def test_a_confirmation_of_what_was_not_sent_ends_the_websocket(app: AgentApplication):
    socket, _ = await open_socket(app)
    socket.send_bytes((99).to_bytes(8, "big"))
    assert socket.task is not None
    await socket.task


async def test_a_client_that_says_that_it_ends_is_not_waited_for(app: AgentApplication):
    socket, _ = await open_socket(app)
    socket.send_bytes(b"end")
    await socket.disconnect()
    await until(lambda: app.connections == 0)


async def test_the_goodbye_of_a_proxy_is_a_cut(app: AgentApplication):
    socket, id = await open_socket(app)
    await socket.disconnect(1001)
    again = Driver(app).websocket({**RESUME, "acp-connection-id": id, "acp-received": "1"})
    assert (await again.received())["type"] == "websocket.accept"


async def test_a_client_that_closes_is_not_waited_for(app: AgentApplication):
    socket, _ = await open_socket(app)
    await socket.disconnect(1000)
    await until(lambda: app.connections == 0)


async def test_a_server_that_ends_says_so_before_it_closes(app: AgentApplication):
    socket, _ = await open_socket(app)
    await app.aclose()
    assert (await socket.received())["bytes"] == b"end"
    assert (await socket.received())["code"] == 1001


async def test_a_client_that_does_not_come_back_is_forgotten():
    app = new_agent().asgi(limits=HttpLimits(idle_seconds=1))
    socket = Driver(app).websocket(RESUME)
    await socket.received()
    socket.send(initialize())
    await socket.received()
    await socket.disconnect()
    await until(lambda: app.connections == 0)


async def test_nobody_else_can_resume_a_connection(tmp_path: Path):
    tokens = TokenFile(tmp_path / "tokens.json")
    app = new_agent().asgi(tokens=tokens)
    ada, bob = ({"authorization": f"Bearer {tokens.create(name)}"} for name in ("ada", "bob"))
    socket, id = await open_socket(app, ada)
    await socket.disconnect()
    assert await refused(app, {"acp-connection-id": id, "acp-received": "1", **bob})
    again = Driver(app).websocket({**RESUME, "acp-connection-id": id, "acp-received": "1", **ada})
    assert (await again.received())["type"] == "websocket.accept"
    await app.aclose()


async def test_a_cut_connection_ends_with_the_server(app: AgentApplication):
    socket, _ = await open_socket(app)
    await socket.disconnect()
    await app.aclose()
    assert app.connections == 0
