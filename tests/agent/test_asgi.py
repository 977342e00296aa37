"""The rules of the HTTP endpoint: which request gets which status, and which stream gets which message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord import Agent, Turn
from accord.agent.asgi import AgentApplication
from accord.dialects.negotiation import ProtocolVersion
from accord.store import MemoryStore
from accord.transports.http_server import HttpLimits
from tests.asgi_driver import POST_HEADERS, Driver, Response, until

OFFERS: dict[Any, dict[str, Any]] = {
    1: {"protocolVersion": 1, "clientCapabilities": {}},
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "test", "version": "0"}},
    "2-draft": {"protocolVersion": 2, "clientCapabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


def new_agent() -> Agent:
    agent = Agent("remote", store=MemoryStore(), slow_loop_seconds=None)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "wait":
            await asyncio.Event().wait()
        await turn.say(f"You said {turn.text}.")

    @agent.method("_acme/ask")
    async def ask(params: Any, client: Any) -> Any:
        return await client.request("_acme/answer", params)

    return agent


class Connection:
    """A client that has initialized, with the connection's own stream open."""

    def __init__(self, driver: Driver, headers: dict[str, str], stream: Response) -> None:
        self.driver = driver
        self.headers = headers
        self.stream = stream
        self._ids = 1

    async def post(self, message: Any, session_id: str | None = None) -> Response:
        headers = self.headers if session_id is None else {**self.headers, "acp-session-id": session_id}
        return await self.driver.post(message, headers)

    async def call(self, method: str, params: Any, session_id: str | None = None) -> int:
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        assert (await self.post(message, session_id)).status == 202
        return self._ids

    async def new_session(self) -> str:
        count = len(self.stream.events)
        await self.call("session/new", {"cwd": "/tmp", "mcpServers": []})
        return (await self.stream.event(count))["result"]["sessionId"]

    async def session_stream(self, session_id: str) -> Response:
        return await self.driver.stream({**self.headers, "acp-session-id": session_id})


def initialize(version: ProtocolVersion = 1, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": OFFERS[version]}


async def connect(app: AgentApplication, version: ProtocolVersion = 1) -> Connection:
    driver = Driver(app)
    response = await driver.post(initialize(version))
    assert response.status == 200, response.body
    headers = {"acp-connection-id": response.headers["acp-connection-id"]}
    return Connection(driver, headers, await driver.stream(headers))


@pytest.fixture
async def app() -> AsyncIterator[AgentApplication]:
    app = new_agent().asgi()
    yield app
    await app.aclose()


@pytest.fixture
async def connection(app: AgentApplication, version: ProtocolVersion) -> Connection:
    return await connect(app, version)


def prompt(session_id: str, text: str) -> dict[str, Any]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


def say(text: str) -> Any:
    """Whether an event is a chunk with this text."""
    return lambda event: text in json.dumps(event)


async def test_initialize_is_answered_in_the_body_with_a_connection_id(app: AgentApplication, version: ProtocolVersion):
    response = await Driver(app).post(initialize(version, id="first"))
    assert response.status == 200
    assert response.headers["content-type"] == "application/json"
    assert len(response.headers["acp-connection-id"]) >= 40
    body = json.loads(response.body)
    assert body["id"] == "first"
    assert body["result"]["protocolVersion"] == OFFERS[version]["protocolVersion"]


async def test_connection_ids_differ(app: AgentApplication):
    driver = Driver(app)
    ids = {(await driver.post(initialize())).headers["acp-connection-id"] for _ in range(3)}
    assert len(ids) == 3
    assert app.connections == 3


async def test_an_initialize_that_fails_leaves_no_connection(app: AgentApplication):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "x"}}
    response = await Driver(app).post(message)
    assert response.status == 200
    assert "error" in json.loads(response.body)
    assert "acp-connection-id" not in response.headers
    await until(lambda: not app.connections)


async def test_a_prompt_streams_on_its_session_and_ends_there(connection: Connection):
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    id = await connection.call("session/prompt", prompt(session_id, "hello"), session_id)
    await stream.until(lambda: any(event.get("id") == id for event in stream.events))
    await stream.until(lambda: any(map(say("You said hello."), stream.events)))
    assert all("sessionId" not in event.get("params", {}) for event in connection.stream.events)


async def test_updates_wait_for_the_stream_of_their_session(connection: Connection):
    session_id = await connection.new_session()
    await connection.call("session/prompt", prompt(session_id, "early"), session_id)
    stream = await connection.session_stream(session_id)
    await stream.until(lambda: any(map(say("You said early."), stream.events)))


async def test_a_stream_without_events_begins_with_a_comment_for_proxies_that_wait_for_a_body(connection: Connection):
    stream = await connection.session_stream(await connection.new_session())
    await stream.until(lambda: stream.chunks)
    assert stream.chunks == [b":\n\n"]


async def test_events_that_are_due_at_once_are_one_write(connection: Connection):
    session_id = await connection.new_session()
    await connection.call("session/prompt", prompt(session_id, "early"), session_id)
    await asyncio.sleep(0.1)
    stream = await connection.session_stream(session_id)
    await stream.until(lambda: any(map(say("You said early."), stream.events)))
    assert len(stream.events) > len(stream.chunks)


async def test_a_second_reader_of_a_stream_gets_409(connection: Connection):
    assert (await connection.driver.stream(connection.headers)).status == 409
    session_id = await connection.new_session()
    await connection.session_stream(session_id)
    assert (await connection.session_stream(session_id)).status == 409


async def test_a_stream_can_be_read_again_after_its_reader_left(connection: Connection):
    session_id = await connection.new_session()
    first = await connection.session_stream(session_id)
    await first.disconnect()
    second = await connection.session_stream(session_id)
    assert second.status == 200
    await connection.call("session/prompt", prompt(session_id, "again"), session_id)
    await second.until(lambda: any(map(say("You said again."), second.events)))
    assert first.events == [] or not any(map(say("You said again."), first.events))


async def test_a_stream_of_an_unknown_session_waits(connection: Connection):
    stream = await connection.session_stream("not-yet")
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "*/*", "text/*", "application/json, text/event-stream;q=0.5", ""]
)
async def test_a_stream_is_opened_for_every_accept_that_covers_it(app: AgentApplication, accept: str):
    driver = Driver(app)
    headers = {"acp-connection-id": (await driver.post(initialize())).headers["acp-connection-id"], "accept": accept}
    assert (await driver.stream(headers)).status == 200


async def test_get_without_event_stream_in_accept_is_406(connection: Connection):
    response = await connection.driver.request("GET", {**connection.headers, "accept": "application/json"})
    assert response.status == 406


async def test_get_that_asks_for_an_upgrade_the_server_does_not_do_is_426(app: AgentApplication):
    assert (await Driver(app).request("GET", {"upgrade": "websocket"})).status == 426


async def test_initialize_on_an_existing_connection_is_400(connection: Connection, version: ProtocolVersion):
    assert (await connection.post(initialize(version, 9))).status == 400


@pytest.mark.parametrize("version", [1, "2-draft"])
@pytest.mark.bad_frames
async def test_a_batch_is_served_where_the_version_has_batches(connection: Connection):
    batch = [{"jsonrpc": "2.0", "id": number, "method": "_acme/unknown"} for number in (11, 12)]
    assert (await connection.post(batch)).status == 202
    answers = await connection.stream.event(0)
    assert [answer["id"] for answer in answers] == [11, 12]


@pytest.mark.parametrize("version", [2])
async def test_a_batch_is_501_in_published_v2(connection: Connection):
    batch = [{"jsonrpc": "2.0", "id": 11, "method": "session/list", "params": {}}]
    assert (await connection.post(batch)).status == 501


@pytest.mark.parametrize("body", [b"{", b"", b"12", b'"text"', b"null", b"\xff", b"[" * 100_000])
async def test_what_is_no_message_is_400(app: AgentApplication, body: bytes):
    connection = await connect(app)
    assert (await connection.post(body)).status == 400
    assert (await Driver(app).post(body)).status == 400


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/jsonp", "application/x-www-form-urlencoded"])
async def test_a_post_of_another_content_type_is_415(app: AgentApplication, content_type: str):
    response = await Driver(app).request("POST", {"content-type": content_type}, b"{}")
    assert response.status == 415


async def test_the_content_type_may_have_parameters(app: AgentApplication):
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    response = await Driver(app).request("POST", headers, json.dumps(initialize()).encode())
    assert response.status == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_missing_connection_id_is_400_and_an_unknown_one_404(app: AgentApplication, method: str):
    driver = Driver(app)
    headers = {"content-type": "application/json"}
    body = b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}'
    assert (await driver.request(method, headers, body)).status == 400
    assert (await driver.request(method, {**headers, "acp-connection-id": "x"}, body)).status == 404
    assert (await driver.request(method, {**headers, "acp-connection-id": "x" * 2000}, body)).status == 400


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"])
async def test_other_methods_are_405(app: AgentApplication, method: str):
    response = await Driver(app).request(method, {})
    assert (response.status, response.headers["allow"]) == (405, "POST, GET, DELETE")


async def test_other_paths_are_404(app: AgentApplication):
    for path in ("/", "/acp/", "/acp/..", "//acp", "/ACP", "/acp%2f"):
        assert (await Driver(app).request("GET", {}, path=path)).status == 404


async def test_a_header_that_differs_from_the_params_is_400(connection: Connection):
    session_id = await connection.new_session()
    message = {"jsonrpc": "2.0", "id": 5, "method": "session/prompt", "params": prompt(session_id, "x")}
    assert (await connection.post(message, "other")).status == 400
    assert (await connection.post(message)).status == 400
    message["params"]["sessionId"] = "s" * 2000
    assert (await connection.post(message, "s" * 2000)).status == 400


async def test_a_session_id_that_is_too_long_is_400(connection: Connection):
    for session_id, header in (("x" * 1025, None), ("x", "x" * 1025)):
        message = {"jsonrpc": "2.0", "id": 9, "method": "_acme/x", "params": {"sessionId": session_id}}
        assert (await connection.post(message, header)).status == 400
    assert (await connection.driver.stream({**connection.headers, "acp-session-id": "x" * 1025})).status == 400
    assert (await connection.session_stream("x" * 1024)).status == 200


async def test_a_response_needs_no_session_header(connection: Connection):
    await connection.call("_acme/ask", {"a": 1})
    question = await connection.stream.event(0)
    assert question["method"] == "_acme/answer"
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"b": 2}}
    assert (await connection.post(answer)).status == 202
    assert (await connection.stream.event(1))["result"] == {"b": 2}


async def test_the_answer_about_an_unknown_session_takes_the_stream_that_the_client_reads(connection: Connection):
    id = await connection.call("session/prompt", prompt("unknown", "x"), "unknown")
    assert (await connection.stream.event(0))["id"] == id
    stream = await connection.session_stream("unknown")
    id = await connection.call("session/prompt", prompt("unknown", "x"), "unknown")
    assert (await stream.event(0))["id"] == id


@pytest.mark.parametrize("version", [1])
@pytest.mark.parametrize("with_header", [True, False])
async def test_load_is_accepted_with_and_without_the_session_header(
    app: AgentApplication, connection: Connection, with_header: bool
):
    session_id = await connection.new_session()
    first = await connection.session_stream(session_id)
    id = await connection.call("session/prompt", prompt(session_id, "keep"), session_id)
    await first.until(lambda: any(event.get("id") == id for event in first.events))
    await connection.driver.request("DELETE", connection.headers)
    other = await connect(app)
    params = {"sessionId": session_id, "cwd": "/tmp", "mcpServers": []}
    if with_header:
        stream = await other.session_stream(session_id)
        id = await other.call("session/load", params, session_id)
    else:
        stream = other.stream
        id = await other.call("session/load", params)
    await stream.until(lambda: any(event.get("id") == id for event in stream.events))
    texts = [json.dumps(event) for event in stream.events]
    replayed = next(index for index, text in enumerate(texts) if "You said keep." in text)
    answered = next(index for index, event in enumerate(stream.events) if event.get("id") == id)
    assert replayed < answered


async def test_delete_ends_the_connection_its_streams_and_its_turns(app: AgentApplication, connection: Connection):
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    await connection.call("session/prompt", prompt(session_id, "wait"), session_id)
    assert (await connection.driver.request("DELETE", connection.headers)).status == 202
    await stream.complete()
    await connection.stream.complete()
    assert (await connection.driver.request("DELETE", connection.headers)).status == 404
    await until(lambda: not app.connections)


async def test_a_body_over_the_limit_is_413():
    app = new_agent().asgi(limits=HttpLimits(body_bytes=1000))
    driver = Driver(app)
    assert (await driver.post(b" " * 1001)).status == 413
    assert (await driver.post(b"{}", {"content-length": "1001"})).status == 413
    assert (await driver.post(json.dumps(initialize()).encode().ljust(1000))).status == 200
    await app.aclose()


async def test_a_body_that_takes_too_long_is_408():
    app = new_agent().asgi(limits=HttpLimits(body_seconds=0.01))
    driver = Driver(app)
    response = Response()
    response.incoming.put_nowait({"type": "http.request", "body": b"{", "more_body": True})
    scope = {"type": "http", "method": "POST", "path": "/acp", "headers": [
        (b"host", b"localhost"), (b"content-type", b"application/json"),
    ]}  # fmt: skip
    task = asyncio.create_task(driver.app(scope, response.incoming.get, response.send))
    await response.until(lambda: response.status)
    assert response.status == 408
    response.incoming.put_nowait({"type": "http.disconnect"})
    await task


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1@evil.example", "[", ""]
)
async def test_a_foreign_host_is_403(app: AgentApplication, host: str):
    assert (await Driver(app).post(initialize(), {"host": host})).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000", "acp.example"])
async def test_own_hosts_are_accepted(host: str):
    app = new_agent().asgi(hosts=["acp.example"])
    assert (await Driver(app).post(initialize(), {"host": host})).status == 200
    await app.aclose()


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "https://localhost:8000", "http://localhost:8000.evil"],
)
async def test_a_foreign_origin_is_403(app: AgentApplication, origin: str):
    driver = Driver(app)
    assert (await driver.post(initialize(), {"origin": origin})).status == 403
    socket = driver.websocket({"origin": origin})
    assert (await socket.received())["type"] == "websocket.close"


async def test_own_origins_are_accepted():
    app = new_agent().asgi(origins=["https://page.example"])
    driver = Driver(app)
    for origin in ("http://localhost:8000", "https://page.example"):
        assert (await driver.post(initialize(), {"origin": origin})).status == 200
    await app.aclose()


async def test_connections_over_the_limit_are_503():
    app = new_agent().asgi(limits=HttpLimits(connections=1))
    await connect(app)
    assert (await Driver(app).post(initialize())).status == 503
    await app.aclose()


async def test_streams_over_the_limit_are_429():
    app = new_agent().asgi(limits=HttpLimits(sessions=2))
    connection = await connect(app)
    for number in range(2):
        assert (await connection.session_stream(f"s{number}")).status == 200
    assert (await connection.session_stream("s2")).status == 429
    await app.aclose()


async def test_an_idle_stream_gets_comments():
    app = new_agent().asgi(limits=HttpLimits(keep_alive_seconds=0.01))
    connection = await connect(app)
    await connection.stream.until(lambda: connection.stream.body.startswith(b":\n\n:\n\n"))
    await app.aclose()


async def test_a_connection_without_streams_ends():
    app = new_agent().asgi(limits=HttpLimits(idle_seconds=0.05))
    response = await Driver(app).post(initialize())
    await until(lambda: not app.connections)
    headers = {"acp-connection-id": response.headers["acp-connection-id"]}
    assert (await Driver(app).stream(headers)).status == 404


async def test_a_stream_for_a_session_that_nobody_names_ends():
    app = new_agent().asgi(limits=HttpLimits(idle_seconds=1.0))
    connection = await connect(app)
    stream = await connection.session_stream("never")
    await stream.complete()
    assert not connection.stream.is_complete
    await app.aclose()


async def test_a_client_that_does_not_read_is_dropped():
    app = new_agent().asgi(limits=HttpLimits(unread_seconds=0.05))
    connection = await connect(app)
    session_id = await connection.new_session()
    await connection.call("session/prompt", prompt(session_id, "unread"), session_id)
    await connection.stream.complete()
    await app.aclose()


async def test_no_more_than_the_limit_waits_for_a_client_that_does_not_read():
    app = new_agent().asgi(limits=HttpLimits(unread_bytes=100_000))
    connection = await connect(app)
    session_id = await connection.new_session()
    await connection.call("session/prompt", prompt(session_id, "x" * 100_000), session_id)
    await connection.stream.complete()
    await until(lambda: app.connections == 0)
    await app.aclose()


async def test_a_write_that_nobody_reads_ends_with_the_connection():
    app = new_agent().asgi(limits=HttpLimits(unread_seconds=0.05, close_seconds=0.05))
    connection = await connect(app)
    session_id = await connection.new_session()
    stuck = Response()
    stuck.incoming.put_nowait({"type": "http.request"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    headers = {"host": "localhost", **connection.headers, "acp-session-id": session_id}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/acp", "headers": encoded}
    request = asyncio.create_task(app(scope, stuck.incoming.get, send))
    await connection.call("session/prompt", prompt(session_id, "unread"), session_id)
    await request
    await connection.stream.complete()
    await app.aclose()


async def test_shutdown_answers_running_prompts_and_refuses_new_connections(
    app: AgentApplication, connection: Connection
):
    session_id = await connection.new_session()
    stream = await connection.session_stream(session_id)
    await connection.call("session/prompt", prompt(session_id, "wait"), session_id)
    await app.aclose()
    await stream.complete()
    assert "cancelled" in json.dumps(stream.events)
    assert (await Driver(app).post(initialize())).status == 503
    assert app.connections == 0


async def test_the_lifespan_ends_the_connections(app: AgentApplication):
    connection = await connect(app)
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outgoing: asyncio.Queue[Any] = asyncio.Queue()
    lifespan = asyncio.create_task(app({"type": "lifespan"}, incoming.get, outgoing.put))
    incoming.put_nowait({"type": "lifespan.startup"})
    assert (await outgoing.get())["type"] == "lifespan.startup.complete"
    incoming.put_nowait({"type": "lifespan.shutdown"})
    assert (await outgoing.get())["type"] == "lifespan.shutdown.complete"
    await lifespan
    assert connection.stream.is_complete


async def test_the_application_serves_its_path_below_where_it_is_mounted(app: AgentApplication):
    response = Response()
    response.incoming.put_nowait({"type": "http.request", "body": json.dumps(initialize()).encode()})
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/agents/acp", "root_path": "/agents", "headers": headers}
    await app(scope, response.incoming.get, response.send)
    assert response.status == 200


async def test_it_is_mounted_in_starlette(app: AgentApplication):
    routing = pytest.importorskip("starlette.routing")
    mounted = pytest.importorskip("starlette.applications").Starlette(routes=[routing.Mount("/agents", app)])
    driver = Driver(mounted)
    response = await driver.request("POST", POST_HEADERS, json.dumps(initialize()).encode(), path="/agents/acp")
    assert response.status == 200
    response = await driver.request("POST", POST_HEADERS, json.dumps(initialize()).encode(), path="/acp")
    assert response.status == 404
    socket = driver.websocket(path="/agents/acp")
    assert (await socket.received())["type"] == "websocket.accept"
    await socket.disconnect()
