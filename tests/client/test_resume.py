"""Connections that are cut at any byte and resumed: nothing is lost, doubled or out of order, and no wait is endless."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord import Agent, Client, ConnectionClosed, Remote, Turn, permissions
from accord.dialects.negotiation import ProtocolVersion
from accord.store import MemoryStore
from accord.transports import http_client, resumption, websocket
from accord.transports.http_server import HttpLimits
from accord.transports.remote import Profile
from tests.agent.test_web_server import new_certificate
from tests.asgi_driver import until
from tests.client.test_remote import served
from tests.cutting_proxy import CuttingProxy, cutting_proxy, seeded_cuts

SEEDS = int(os.environ.get("ACCORD_SEEDS", "10"))
"""The number of conversations, each with about twenty cuts; `make soak` has more of them."""


@pytest.fixture(params=["websocket", "http"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "_FIRST_DELAY", 0.002)
    monkeypatch.setattr(resumption, "_LONGEST_DELAY", 0.05)


class History:
    """An agent that counts aloud and asks now and then, with a record of everything that reached it."""

    def __init__(self) -> None:
        self.agent = agent = Agent("counter", store=MemoryStore(), slow_loop_seconds=None, merge_seconds=0.0)
        self.prompts: list[str] = []
        self.ticks: list[int] = []
        self.answers: list[bool] = []
        self.asked: list[str] = []
        self.go = asyncio.Event()

        @agent.prompt
        async def count(turn: Turn) -> None:
            self.prompts.append(turn.text)
            if turn.text == "wait":
                await turn.say("begun ")
                await self.go.wait()
                await turn.say("done")
                return
            for number in range(int(turn.text)):
                await turn.say(f"{number} ")
                if number % 20 == 10:
                    async with turn.tool_call(f"Step {number}", kind="edit") as call:
                        self.answers.append(await turn.allowed(call))

        @agent.notification("_acme/tick")
        async def tick(params: Any) -> None:
            self.ticks.append(params["n"])

        @agent.method("_acme/echo")
        async def echo(params: Any) -> Any:
            return params

    async def allow(self, request: Any) -> Any:
        self.asked.append(request.title)
        return await permissions.allow_all(request)


@asynccontextmanager
async def cut_connection(
    history: History,
    profile: Profile,
    version: ProtocolVersion = 1,
    limits: HttpLimits | None = None,
    tls: tuple[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Client, CuttingProxy]]:
    async with served(history.agent.asgi(limits=limits), tls) as url, cutting_proxy(url) as (through, proxy):
        target = Remote(through if tls is None else through.replace("http:", "https:"), profile=profile, **options)
        async with Client(target, version=version, on_permission=history.allow) as client:
            yield client, proxy


async def check_history(
    seed: int,
    profile: Profile,
    version: ProtocolVersion,
    *,
    cuts: int,
    numbers: int,
    tls: tuple[str, str] | None = None,
) -> int:
    """A conversation with connections cut by the seed; returns how many were."""
    history = History()
    async with cut_connection(history, profile, version, tls=tls) as (client, proxy), asyncio.timeout(60):
        session = await client.new_session(cwd="/tmp")
        proxy.cut_point = seeded_cuts(seed, cuts, proxy, 50, 4000 if tls is None else 8000)
        proxy.cut_all()
        for turn in range(2):
            reply = session.prompt(str(numbers))
            for number in range(10):
                await client.notify("_acme/tick", {"n": 10 * turn + number})
                assert await client.request("_acme/echo", {"n": number}) == {"n": number}
            assert (await reply).text.split() == [str(number) for number in range(numbers)]
    steps = [f"Step {number}" for number in range(numbers) if number % 20 == 10]
    assert history.prompts == [str(numbers)] * 2
    assert history.ticks == list(range(20))
    assert history.asked == steps * 2
    assert history.answers == [True] * len(steps) * 2
    return proxy.cuts


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_cuts_lose_double_and_reorder_nothing(seed: int, profile: Profile):
    version: ProtocolVersion = (1, 2, "2-draft")[seed % 3]
    assert await check_history(seed, profile, version, cuts=25, numbers=150) >= 20


@pytest.mark.parametrize("seed", range(SEEDS // 2))
async def test_cuts_of_http_2_lose_double_and_reorder_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    certificate = new_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    version: ProtocolVersion = (1, 2, "2-draft")[seed % 3]
    assert await check_history(seed, "http", version, cuts=15, numbers=100, tls=certificate) >= 10


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_cut_while_connecting_leaves_one_connection_and_one_session(seed: int, profile: Profile):
    chance = random.Random(seed)
    history = History()
    opened: list[str] = []

    @history.agent.new_session
    async def note(session: Any) -> None:
        opened.append(session.id)

    app = history.agent.asgi(limits=HttpLimits(idle_seconds=2))
    async with served(app) as url, cutting_proxy(url) as (through, proxy), asyncio.timeout(60):
        cuts = [(chance.randrange(1, 700), None), (None, chance.randrange(1, 500)), (chance.randrange(1, 700), None)]
        proxy.cut_point = lambda: cuts.pop() if cuts else (None, None)
        async with Client(Remote(through, profile=profile)) as client:
            session = await client.new_session(cwd="/tmp")
            await until(lambda: app.connections == 1)
            assert (await session.prompt("3")).text == "0 1 2 "
            assert app.connections == 1
        assert opened == [session.id]
        await until(lambda: app.connections == 0)


async def test_a_turn_lives_on_while_the_network_is_down(profile: Profile, version: ProtocolVersion):
    history = History()
    async with cut_connection(history, profile, version) as (client, proxy), asyncio.timeout(120):
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        await anext(aiter(reply))
        proxy.is_down = True
        proxy.cut_all()
        history.go.set()
        await asyncio.sleep(0.2)  # the client tries in vain meanwhile
        proxy.is_down = False
        assert (await reply).text == "begun done"
        assert history.prompts == ["wait"]


async def test_a_connection_that_is_half_open_is_replaced(profile: Profile, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(websocket, "_PING_SECONDS", 0.2)
    monkeypatch.setattr(http_client, "_SILENT_SECONDS", 0.4)
    monkeypatch.setattr(http_client, "_CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(websocket, "_CLOSE_SECONDS", 0.2)
    history = History()
    limits = HttpLimits(keep_alive_seconds=0.1)
    async with cut_connection(history, profile, limits=limits) as (client, proxy), asyncio.timeout(120):
        reply = (await client.new_session(cwd="/tmp")).prompt("wait")
        await until(lambda: reply.text)
        proxy.freeze()
        history.go.set()
        assert (await reply).text == "begun done"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a WebSocket that ended was tried to be replaced, each time."""
    waits: list[float] = []

    class Backoff(resumption.Backoff):
        def __init__(self, seconds: float) -> None:
            super().__init__(seconds)
            waits.append(seconds)

    monkeypatch.setattr(websocket, "Backoff", Backoff)
    return waits


async def test_the_goodbye_of_a_proxy_is_a_cut(waits: list[float]):
    history = History()
    async with cut_connection(history, "websocket") as (client, proxy), asyncio.timeout(120):
        reply = (await client.new_session(cwd="/tmp")).prompt("wait")
        await until(lambda: reply.text)
        proxy.say_goodbye()
        await until(lambda: waits)
        history.go.set()
        assert (await reply).text == "begun done"
        assert waits == [60.0]


async def test_a_server_that_ends_is_not_tried_again(waits: list[float]):
    app = History().agent.asgi()
    async with served(app) as url, Client(Remote(url, profile="websocket")) as client, asyncio.timeout(120):
        reply = (await client.new_session(cwd="/tmp")).prompt("wait")
        await until(lambda: reply.text)
        await app.aclose()
        assert (await reply).stop_reason == "cancelled"
        assert (await client.wait_closed()).kind == "peer_closed"
        assert waits == []


async def test_a_question_that_was_asked_on_a_lost_connection_is_answered_once(profile: Profile):
    history = History()
    answer = asyncio.Event()
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def allow(request: Any) -> Any:
        asked.put_nowait(request.title)
        await answer.wait()
        return await permissions.allow_all(request)

    history.allow = allow
    async with cut_connection(history, profile) as (client, proxy), asyncio.timeout(120):
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("15")
        assert await asked.get() == "Step 10"
        proxy.cut_all()
        answer.set()
        assert (await reply).text.split() == [str(number) for number in range(15)]
    assert (history.answers, asked.empty()) == ([True], True)


async def test_a_client_gives_up_after_its_time(profile: Profile):
    history = History()
    async with cut_connection(history, profile, resume_seconds=1) as (client, proxy), asyncio.timeout(120):
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        await anext(aiter(reply))
        proxy.is_down = True
        proxy.cut_all()
        with pytest.raises(ConnectionClosed, match="tried again for 1 s"):
            await reply
        assert (await client.wait_closed()).kind == "peer_closed"


async def test_a_server_gives_up_after_its_time_and_the_client_is_told(profile: Profile):
    history = History()
    app = history.agent.asgi(limits=HttpLimits(idle_seconds=1))
    async with served(app) as url, cutting_proxy(url) as (through, proxy), asyncio.timeout(120):
        client = Client(Remote(through, profile=profile))
        await client.open()
        reply = (await client.new_session(cwd="/tmp")).prompt("wait")
        await anext(aiter(reply))
        proxy.is_down = True
        proxy.cut_all()
        while app.connections:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        proxy.is_down = False
        with pytest.raises(ConnectionClosed):
            await reply
        await client.aclose()


async def test_without_time_to_resume_a_cut_is_the_end(profile: Profile):
    history = History()
    async with cut_connection(history, profile, resume_seconds=0) as (client, proxy), asyncio.timeout(120):
        await client.new_session(cwd="/tmp")
        proxy.cut_all()
        assert (await client.wait_closed()).kind == "peer_closed"


async def test_updates_beyond_the_window_wait_for_a_client_that_was_cut(profile: Profile):
    history = History()
    text = "x" * 10_000
    said = 0
    begun = asyncio.Event()

    @history.agent.command("flood", "Say a lot")
    async def flood(turn: Turn) -> None:
        nonlocal said
        for _ in range(1000):
            await turn.say(text)
            said += len(text)
            begun.set()

    async with cut_connection(history, profile) as (client, proxy), asyncio.timeout(120):
        session = await client.new_session(cwd="/tmp")
        reply = session.prompt("/flood")
        await begun.wait()
        proxy.is_down = True
        proxy.cut_all()
        before = -1
        while before != said:  # until it stands still
            before = said
            await asyncio.sleep(0.3)
        assert said < 5_000_000
        proxy.is_down = False
        assert len((await reply).text) == 10_000_000


async def test_a_client_that_closes_ends_its_turn_at_once(profile: Profile):
    history = History()
    app = history.agent.asgi()
    async with served(app) as url, asyncio.timeout(120):
        async with Client(Remote(url, profile=profile)) as client:
            reply = (await client.new_session(cwd="/tmp")).prompt("wait")
            await anext(aiter(reply))
        while app.connections:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
