"""A client and an agent over the network: the same conversations on WebSocket, HTTP/1.1 and behind other servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, ConnectionClosed, Remote, RequestFailed, Turn, permissions
from accord.dialects.negotiation import ProtocolVersion
from accord.store import MemoryStore
from accord.transports import server_socket
from accord.transports.http_application import HttpApplication
from accord.transports.http_client import HttpTransport
from accord.transports.http_server import HttpLimits
from accord.transports.remote import Profile, RemoteTransport
from accord.transports.web_server import ListenAddress, WebServer
from accord.transports.websocket import WebSocketTransport
from accord.transports.websocket_messages import write_messages
from tests.agent.test_web_server import new_certificate


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> ProtocolVersion:
    return request.param


@pytest.fixture(params=["websocket", "http"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param


def new_agent(**options: Any) -> Agent:
    agent = Agent("remote", store=MemoryStore(), slow_loop_seconds=None, **options)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "wait":
            await turn.say("waiting")
            await asyncio.Event().wait()
        if turn.text == "ask":
            async with turn.tool_call("Delete everything", kind="delete") as call:
                await turn.say("yes" if await turn.allowed(call) else "no")
        elif turn.text == "many":
            for number in range(2000):
                await turn.say(f"{number} ")
        else:
            await turn.say(turn.text)

    return agent


@asynccontextmanager
async def served(app: HttpApplication, tls: tuple[str, str] | None = None) -> AsyncIterator[str]:
    server = WebServer(app, ListenAddress("127.0.0.1:0").listen(), tls)
    stop = asyncio.Event()
    task = asyncio.create_task(server.serve(stop))
    try:
        yield server.url
    finally:
        stop.set()
        await task


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with served(new_agent().asgi()) as url:
        yield url


def connect(url: str, profile: Profile, version: ProtocolVersion, **options: Any) -> Client:
    return Client(Remote(url, profile=profile), version=version, **options)


async def test_a_prompt_is_answered(url: str, profile: Profile, version: ProtocolVersion):
    async with connect(url, profile, version) as client:
        session = await client.new_session(cwd="/tmp")
        reply = await session.prompt("Hello")
        assert (reply.text, reply.stop_reason) == ("Hello", "end_turn")


async def test_permission_is_asked_and_answered(url: str, profile: Profile, version: ProtocolVersion):
    for policy, text in ((permissions.allow_all, "yes"), (permissions.reject_all, "no")):
        async with connect(url, profile, version, on_permission=policy) as client:
            session = await client.new_session(cwd="/tmp")
            assert (await session.prompt("ask")).text == text


async def test_many_updates_arrive_complete_and_in_order(url: str, profile: Profile, version: ProtocolVersion):
    async with connect(url, profile, version) as client:
        session = await client.new_session(cwd="/tmp")
        reply = await session.prompt("many")
        assert reply.text.split() == [str(number) for number in range(2000)]


async def test_messages_that_are_due_at_once_are_one_write_of_a_websocket(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []

    def write(frames: list[bytes]) -> bytes:
        sizes.append(len(frames))
        return write_messages(frames)

    monkeypatch.setattr(server_socket, "write_messages", write)
    app = new_agent(merge_seconds=0.0).asgi()
    async with served(app) as url, connect(url, "websocket", 1) as client:
        session = await client.new_session(cwd="/tmp")
        await session.prompt("many")
    assert sum(sizes) > 3 * len(sizes)


async def test_many_connections_stream_at_once_complete_and_in_order(url: str):
    """Twenty here, and two hundred in `make soak`."""

    async def stream(profile: Profile) -> bool:
        async with connect(url, profile, 1) as client:
            session = await client.new_session(cwd="/tmp")
            return (await session.prompt("many")).text.split() == [str(number) for number in range(2000)]

    assert all(await asyncio.gather(*(stream(profile) for profile in ("websocket", "http") for _ in range(10))))


async def test_a_big_message_passes_both_ways(url: str, profile: Profile):
    text = "ä" * 3_000_000
    async with connect(url, profile, 1) as client:
        session = await client.new_session(cwd="/tmp")
        assert (await session.prompt(text)).text == text


async def test_a_turn_is_cancelled(url: str, profile: Profile, version: ProtocolVersion):
    async with connect(url, profile, version) as client:
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        async for _ in reply:
            await session.cancel()
        assert reply.stop_reason == "cancelled"


async def test_a_session_is_loaded_on_another_connection(url: str, profile: Profile, version: ProtocolVersion):
    async with connect(url, profile, version) as client:
        session = await client.new_session(cwd="/tmp")
        await session.prompt("Remember")
        session_id = session.id
    async with connect(url, profile, version) as client:
        session = await client.load_session(session_id, cwd="/tmp")
        assert [message.text for message in session.transcript.messages.values()] == ["Remember", "Remember"]
        assert (await session.prompt("Again")).text == "Again"


async def test_sessions_of_one_connection_do_not_mix(url: str, profile: Profile):
    async with connect(url, profile, 1) as client:
        sessions = [await client.new_session(cwd="/tmp") for _ in range(5)]
        replies = await asyncio.gather(*(session.prompt(f"n{index}") for index, session in enumerate(sessions)))
        assert [reply.text for reply in replies] == [f"n{index}" for index in range(5)]


async def test_every_wait_ends_when_the_server_stops(profile: Profile, version: ProtocolVersion):
    async with served(new_agent().asgi()) as url:
        client = connect(url, profile, version)
        await client.open()
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        await anext(aiter(reply))
    async with asyncio.timeout(120):
        assert (await client.wait_closed()).kind == "peer_closed"
        with pytest.raises(ConnectionClosed):
            await client.new_session(cwd="/tmp")
        await client.aclose()


async def test_every_wait_ends_when_the_connection_is_cut(profile: Profile):
    async with served(new_agent().asgi()) as url, cutting_proxy(url) as (through, cut):
        client = Client(Remote(through, profile=profile, resume_seconds=0))
        await client.open()
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        await anext(aiter(reply))
        cut()
        async with asyncio.timeout(120):
            with pytest.raises((ConnectionClosed, RequestFailed)):
                await reply
            assert (await client.wait_closed()).kind == "peer_closed"
        await client.aclose()


async def test_closing_the_client_ends_the_connection_on_the_server(profile: Profile):
    app = new_agent().asgi()
    async with served(app) as url:
        async with connect(url, profile, 1) as client:
            await client.new_session(cwd="/tmp")
            assert app.connections == 1
        while app.connections:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_url_is_a_target(url: str):
    for target in (url, url.replace("http", "ws"), url.removesuffix("/acp"), f"{url}#part"):
        async with Client(target) as client:
            assert client.agent.info.name == "remote"  # pyright: ignore[reportOptionalMemberAccess]


async def test_websocket_comes_first(url: str):
    async with Client(url) as client:
        assert isinstance(inner(client), WebSocketTransport)


class Between(HttpApplication):
    """Passes requests on to an application, unless `answer` has a status for them; without WebSockets."""

    def __init__(self, app: HttpApplication, answer: Callable[[str, dict[str, str], bytes], int | None]) -> None:
        self.app, self.answer = app, answer
        self.limits, self.path = app.limits, app.path

    async def aclose(self, seconds: float = 3.0) -> None:
        await self.app.aclose(seconds)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        elif scope["type"] == "http":
            await self.pass_on(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def pass_on(self, scope: Any, receive: Any, send: Any) -> None:
        body, is_complete = b"", scope["method"] == "GET"
        while not is_complete:
            message = await receive()
            body += message.get("body", b"")
            is_complete = not message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        status = self.answer(scope["method"], headers, body)
        if status is not None:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"as the test says"})
            return
        rest = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Any:
            return rest.pop() if rest and scope["method"] != "GET" else await receive()

        async def send_with_cookie(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"set-cookie", b"route=seven; Path=/")]
            await send(message)

        await self.app(scope, receive_again, send_with_cookie)


async def test_http_is_used_where_the_server_has_no_websocket():
    async with served(Between(new_agent().asgi(), lambda method, headers, body: None)) as url, Client(url) as client:
        assert isinstance(inner(client), HttpTransport)
        session = await client.new_session(cwd="/tmp")
        assert (await session.prompt("Hello")).text == "Hello"
        ws_only = Client(url.replace("http", "ws"))
        with pytest.raises(ConnectionClosed, match="offers no WebSocket"):
            await ws_only.open()


async def test_cookies_are_sent_back():
    cookies: list[str | None] = []

    def note(method: str, headers: dict[str, str], body: bytes) -> None:
        cookies.append(headers.get("cookie"))

    async with served(Between(new_agent().asgi(), note)) as url, Client(url) as client:
        await client.new_session(cwd="/tmp")
    assert cookies[0] is None
    assert set(cookies[1:]) == {"route=seven"}


async def test_a_load_that_is_unknown_with_the_session_header_is_sent_without():
    loads: list[str | None] = []

    def refuse(method: str, headers: dict[str, str], body: bytes) -> int | None:
        if b'"session/load"' not in body:
            return None
        loads.append(headers.get("acp-session-id"))
        return 404 if loads[-1] else None

    async with served(Between(new_agent().asgi(), refuse)) as url:
        async with connect(url, "http", 1) as client:
            session = await client.new_session(cwd="/tmp")
            await session.prompt("Remember")
        async with connect(url, "http", 1) as client:
            await client.load_session(session.id, cwd="/tmp")
    assert loads == [session.id, None]


async def test_a_request_that_is_not_accepted_fails_alone():
    def refuse(method: str, headers: dict[str, str], body: bytes) -> int | None:
        return 500 if b"secret word" in body else None

    async with served(Between(new_agent().asgi(), refuse)) as url, connect(url, "http", 1) as client:
        session = await client.new_session(cwd="/tmp")
        with pytest.raises(RequestFailed) as failed:
            await session.prompt("secret word")
        assert failed.value.data == {"status": 500, "body": "as the test says"}
        assert (await session.prompt("Hello")).text == "Hello"


@pytest.mark.parametrize("resume_seconds", [0, 60])
async def test_a_stream_that_is_refused_fails_its_requests_and_the_next_one_opens_it(resume_seconds: float):
    is_refused = True

    def refuse(method: str, headers: dict[str, str], body: bytes) -> int | None:
        return 429 if method == "GET" and "acp-session-id" in headers and is_refused else None

    async with served(Between(new_agent().asgi(), refuse)) as url:
        target = Remote(url, profile="http", resume_seconds=resume_seconds)
        async with Client(target, version=1) as client, asyncio.timeout(120):
            session = await client.new_session(cwd="/tmp")
            with pytest.raises(RequestFailed, match=r"stream of the session ended: .* answered 429"):
                await session.prompt("lost")
            is_refused = False
            assert (await session.prompt("Hello")).text == "Hello"


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_status_that_says_that_the_connection_is_gone_ends_it(status: int):
    def refuse(method: str, headers: dict[str, str], body: bytes) -> int | None:
        return status if b"secret word" in body else None

    async with served(Between(new_agent().asgi(), refuse)) as url, connect(url, "http", 1) as client:
        session = await client.new_session(cwd="/tmp")
        with pytest.raises(ConnectionClosed, match=str(status)):
            await session.prompt("secret word")


async def test_a_response_carries_the_session_that_was_asked_in():
    answers: list[str | None] = []

    def note(method: str, headers: dict[str, str], body: bytes) -> None:
        if b'"outcome"' in body:
            answers.append(headers.get("acp-session-id"))

    async with (
        served(Between(new_agent().asgi(), note)) as url,
        connect(url, "http", 1, on_permission=permissions.allow_all) as client,
    ):
        session = await client.new_session(cwd="/tmp")
        await session.prompt("ask")
        assert answers == [session.id]


def inner(client: Client) -> Any:
    transport = client.peer._transport
    assert isinstance(transport, RemoteTransport)
    return transport._inner


async def test_a_server_that_is_not_there_is_an_error_that_names_it(profile: Profile):
    listener = ListenAddress("127.0.0.1:0").listen()
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ConnectionClosed, match=str(port)) as error:
        await connect(f"http://127.0.0.1:{port}/acp", profile, 1).open()
    assert error.value.kind == "not_started"


async def test_a_path_that_is_not_there_is_an_error_with_its_status(url: str):
    with pytest.raises(ConnectionClosed, match="404"):
        await Client(url.replace("/acp", "/other")).open()


@pytest.mark.parametrize("target", ["http://", "https://user:word@host/acp", "ws:///acp"])
async def test_what_is_no_url_of_an_agent_is_refused(target: str):
    with pytest.raises(ValueError):
        await Client(target).open()


async def test_a_password_is_not_sent_without_tls():
    headers = {"authorization": "Bearer secret"}
    with pytest.raises(ValueError, match="without TLS") as error:
        Remote("http://agents.example/acp", headers=headers).connect()
    assert "secret" not in str(error.value)
    assert "secret" not in repr(Remote("https://agents.example", headers=headers))
    Remote("http://127.0.0.1:1/acp", headers=headers).connect()


@asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """Passes bytes on until it is cut; then it resets every connection and accepts no more."""
    host, port = url.split("/")[2].split(":")
    writers: list[asyncio.StreamWriter] = []
    tasks: list[asyncio.Task[None]] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, port)
        writers.extend((writer, far_writer))
        tasks.extend(asyncio.create_task(copy(*pair)) for pair in ((reader, far_writer), (far_reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)

    def cut() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp", cut
    cut()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_over_http_2_no_answer_waits_for_another_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    certificate = new_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    application = new_agent().asgi(limits=HttpLimits(keep_alive_seconds=600.0))  # which would end a wait
    server = WebServer(application, ListenAddress("127.0.0.1:0").listen(), certificate)
    stop = asyncio.Event()
    task = asyncio.create_task(server.serve(stop))
    async with Client(Remote(server.url, profile="http"), on_permission=permissions.allow_all) as client:
        sessions = [await client.new_session(cwd="/") for _ in range(3)]
        for _ in range(5):
            replies = [session.prompt("ask") for session in sessions]
            assert [(await reply).text for reply in replies] == ["yes"] * 3
    stop.set()
    await task
