"""Users of an agent over the network: who gets in, whose connections and sessions are whose, and who is thrown out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, ConnectionClosed, Remote, RequestFailed, Turn, permissions
from accord.agent.asgi import AgentApplication
from accord.agent.audit import audit_log
from accord.local.token_file import TokenFile
from accord.store import MemoryStore
from accord.store.sqlite import SqliteStore
from accord.transports.remote import Profile
from tests.agent.test_asgi import initialize, prompt
from tests.asgi_driver import Driver, until
from tests.client.test_remote import served

NEW = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}}


def new_agent(store: Any = None) -> Agent:
    agent = Agent("remote", store=store or MemoryStore(), slow_loop_seconds=None)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "ask":
            async with turn.tool_call("Delete everything", kind="delete") as call:
                await turn.say("yes" if await turn.allowed(call) else "no")
        await turn.say(f"You said {turn.text}.")

    return agent


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


@pytest.fixture
async def app(tokens: TokenFile) -> AsyncIterator[AgentApplication]:
    app = new_agent().asgi(tokens=tokens.path)
    yield app
    await app.aclose()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def connect(app: AgentApplication, headers: dict[str, str]) -> tuple[Driver, dict[str, str]]:
    driver = Driver(app)
    response = await driver.post(initialize(), headers)
    assert response.status == 200, response.body
    return driver, {**headers, "acp-connection-id": response.headers["acp-connection-id"]}


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer x", "Basic eDp5", "Bearer accord_0_0", "Bearer " + "x" * 2000])
async def test_without_a_valid_token_everything_is_401(app: AgentApplication, tokens: TokenFile, value: str):
    tokens.create("ada")
    driver = Driver(app)
    headers = {"authorization": value}
    for response in (
        await driver.post(initialize(), headers),
        await driver.request("GET", {"accept": "text/event-stream", "acp-connection-id": "x", **headers}),
        await driver.request("DELETE", {"acp-connection-id": "x", **headers}),
    ):
        assert response.status == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
    socket = driver.websocket(headers)
    assert (await socket.received())["type"] == "websocket.close"
    assert app.connections == 0


@pytest.mark.parametrize("name", ["token", "access_token", "api_key"])
async def test_a_token_in_the_url_is_refused_even_if_it_is_valid(app: AgentApplication, tokens: TokenFile, name: str):
    driver, headers = Driver(app), bearer(token := tokens.create("ada"))
    driver.query = f"{name}={token}"
    refused = await driver.post(initialize(), headers)
    assert (refused.status, b"tokens in URLs" in refused.body) == (400, True)
    assert (await driver.websocket(headers).received())["type"] == "websocket.close"
    driver.query = "name=word"
    assert (await driver.post(initialize(), headers)).status == 200
    with pytest.raises(ValueError, match="must not have a password or a token"):
        Remote(f"https://agents.example/acp?{name}={token}").connect()


async def test_the_connection_of_another_user_does_not_exist(app: AgentApplication, tokens: TokenFile):
    ada, bob, phone = tokens.create("ada"), tokens.create("bob"), tokens.create("phone", "ada")
    driver, headers = await connect(app, bearer(ada))
    for token in (bob, phone):
        foreign = {**headers, **bearer(token)}
        assert (await driver.post(NEW, foreign)).status == 404
        assert (await driver.request("GET", {"accept": "text/event-stream", **foreign})).status == 404
        assert (await driver.request("DELETE", foreign)).status == 404
    assert (await driver.post(NEW, headers)).status == 202


@asynccontextmanager
async def served_to(app: AgentApplication, token: str, profile: Profile) -> AsyncIterator[tuple[str, Client]]:
    async with served(app) as url, Client(Remote(url, token=token, profile=profile)) as client:
        yield url, client


@pytest.fixture(params=["websocket", "http"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "stored"])
async def test_the_sessions_of_another_user_do_not_exist(
    tokens: TokenFile, tmp_path: Path, profile: Profile, kind: str, is_open: bool
):
    ada, bob, phone = tokens.create("ada"), tokens.create("bob"), tokens.create("phone", "ada")
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "sessions.db")
    async with served_to(new_agent(store).asgi(tokens=tokens.path), ada, profile) as (url, owner):
        session = await owner.new_session(cwd="/tmp")
        await session.prompt("Remember")
        if not is_open:
            await session.close()
        async with Client(Remote(url, token=bob, profile=profile)) as other:
            own = await other.new_session(cwd="/tmp")
            assert [each.session_id async for each in other.list_sessions()] == [own.id]
            with pytest.raises(RequestFailed):
                await other.load_session(session.id, cwd="/tmp")
            await other.delete_session(session.id)  # which is not there, as far as he can know
        async with Client(Remote(url, token=phone, profile=profile)) as device:
            assert [each.session_id async for each in device.list_sessions()] == [session.id]
            again = await device.load_session(session.id, cwd="/tmp")
            assert "Remember" in str(again.transcript.messages)
    await store.aclose()


async def test_a_revoked_token_ends_its_streams_and_no_others(app: AgentApplication, tokens: TokenFile):
    """FN-46: a live socket does not survive the revocation of its token."""
    ada, bob = tokens.create("ada"), tokens.create("bob")
    driver, headers = await connect(app, bearer(ada))
    stream = await driver.stream(headers)
    socket = driver.websocket(bearer(ada))
    assert (await socket.received())["type"] == "websocket.accept"
    socket.send(initialize())
    await socket.received()
    _, others = await connect(app, bearer(bob))
    other = await driver.stream(others)
    tokens.revoke("ada")
    await stream.complete()
    assert (await socket.received())["code"] == 1008
    await until(lambda: app.connections == 1)
    assert not other.is_complete
    assert (await driver.post(NEW, others)).status == 202
    assert (await driver.post(NEW, headers)).status == 401


async def test_a_revoked_token_ends_a_clients_turn(tokens: TokenFile, profile: Profile):
    agent = new_agent()
    begun = asyncio.Event()

    @agent.command("wait", "Wait")
    async def wait(turn: Turn) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with served_to(agent.asgi(tokens=tokens.path), tokens.create("ada"), profile) as (_, client):
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("/wait")
        await begun.wait()
        tokens.revoke("ada")
        with pytest.raises(ConnectionClosed):
            await reply


class User:
    def __init__(self, name: str, is_authenticated: bool = True) -> None:
        self.display_name = name
        self.is_authenticated = is_authenticated

    @property
    def identity(self) -> str:
        raise NotImplementedError


@pytest.mark.parametrize("ada", ["ada", User("ada")], ids=["a string", "as Starlette"])
async def test_the_user_of_a_middleware_is_the_owner(ada: Any):
    app = new_agent().asgi()
    user: Any = ada

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "user": user}, receive, send)

    driver = Driver(middleware)
    headers = {"acp-connection-id": (await driver.post(initialize())).headers["acp-connection-id"]}
    assert (await driver.post(NEW, headers)).status == 202
    user = User("bob")
    assert (await driver.post(NEW, headers)).status == 404
    user = User("ada", is_authenticated=False)
    assert (await driver.post(NEW, headers)).status == 401
    await app.aclose()


async def test_a_wrong_token_is_told_to_the_client(tokens: TokenFile, profile: Profile):
    tokens.create("ada")
    async with served(new_agent().asgi(tokens=tokens.path)) as url:
        with pytest.raises(ConnectionClosed, match="401"):
            async with Client(Remote(url, token="wrong", profile=profile)):
                pass


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "audit.log"
    with audit_log(path):
        yield path


async def test_the_audit_log_says_who_prompted_and_who_allowed_what(tokens: TokenFile, audit: Path, profile: Profile):
    async with served(new_agent().asgi(tokens=tokens.path)) as url:
        target = Remote(url, token=tokens.create("laptop", "ada"), profile=profile)
        async with Client(target, on_permission=permissions.allow_all) as client:
            session = await client.new_session(cwd="/tmp")
            await session.prompt("ask")
    text = await asyncio.to_thread(audit.read_text)
    entries = [json.loads(line) for line in text.splitlines()]
    assert [each["event"] for each in entries] == ["connected", "opened", "prompted", "answered", "disconnected"]
    assert {each["user"] for each in entries} == {"ada"}
    assert {each["token"] for each in entries} == {tokens.list()[0].id}
    answered = entries[3]
    assert (answered["request"], answered["answer"], answered["allowed"]) == ("Delete everything", "allow_once", True)
    assert answered["session"] == session.id
    assert '"ask"' not in text
    assert (await asyncio.to_thread(audit.stat)).st_mode & 0o777 == 0o600


async def test_failed_logins_are_in_the_audit_log_and_do_not_fill_it(tokens: TokenFile, audit: Path):
    app = new_agent().asgi(tokens=tokens.path)
    driver, expired = Driver(app), tokens.create("old", seconds=1e-6)
    for number in range(300):
        token = expired if number % 2 else f"accord_{number}"
        assert (await driver.post(initialize(), bearer(token))).status == 401
    text = await asyncio.to_thread(audit.read_text)
    (entry,) = [json.loads(line) for line in text.splitlines()]
    assert (entry["event"], entry["attempts"]) == ("refused", 1)
    await app.aclose()
    text = await asyncio.to_thread(audit.read_text)
    assert [json.loads(line)["attempts"] for line in text.splitlines()] == [1, 299]
    assert expired not in text


async def test_prompts_of_another_session_are_refused(app: AgentApplication, tokens: TokenFile):
    ada, bob = tokens.create("ada"), tokens.create("bob")
    driver, headers = await connect(app, bearer(ada))
    stream = await driver.stream(headers)
    await driver.post(NEW, headers)
    session_id = (await stream.event(0))["result"]["sessionId"]
    _, others = await connect(app, bearer(bob))
    foreign = await driver.stream({**others, "acp-session-id": session_id})
    message = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, "hello")}
    assert (await driver.post(message, {**others, "acp-session-id": session_id})).status == 202
    assert "error" in await foreign.event(0)
