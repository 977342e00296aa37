"""One process for each session, to which connections attach."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Client, ConnectionClosed, Remote, RequestFailed, permissions
from accord.dialects.negotiation import ProtocolVersion
from accord.transports.remote import Profile
from tests.asgi_driver import until
from tests.client.test_shared_sessions import Person
from tests.cutting_proxy import cutting_proxy
from tests.relay.served_agents import Farm, client_of, routed

pytest.importorskip("hypercorn")
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["websocket", "http"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param


def texts(session: Any) -> str:
    return "".join(each.text for each in session.transcript.messages.values())


async def test_each_session_has_a_process_and_the_first_one_that_of_initialize(
    profile: Profile, version: ProtocolVersion
):
    farm = Farm()
    router = farm.router()
    async with routed(router) as url, client_of(url, profile, version) as client:
        sessions = [await client.new_session(cwd="/tmp") for _ in range(3)]
        assert [(await each.prompt("which")).text for each in sessions] == ["process 0", "process 1", "process 2"]
        snapshot = router.snapshot()
        assert len(farm.started) == len(snapshot.processes) == len(snapshot.sessions) == 3
        assert snapshot.sessions[0].clients == (snapshot.connections[0].id,)
        assert await client.request("_acme/echo", {"n": 1}) == {"n": 1}
        assert len(farm.started) == 3


async def test_a_second_client_attaches_to_the_process_and_all_hear_everything(
    profile: Profile, version: ProtocolVersion
):
    farm = Farm()
    async with routed(farm.router()) as url, client_of(url, profile, version) as first:
        session = await first.new_session(cwd="/tmp")
        await session.prompt("one")
        async with client_of(url, profile, version) as second:
            other = await second.load_session(session.id, cwd="/tmp")
            assert texts(other) == "oneone"
            assert (await other.prompt("two")).text == "two"
            await until(lambda: texts(session) == "oneonetwotwo")
            assert (await session.prompt("three")).text == "three"
            await until(lambda: texts(other) == "oneonetwotwothreethree")
        assert len(farm.started) == 1


async def test_the_first_answer_counts_and_the_other_client_is_told(profile: Profile, version: ProtocolVersion):
    ada, bob = Person(), Person(permissions.reject_all)
    async with (
        routed(Farm().router()) as url,
        client_of(url, profile, version, on_permission=ada) as first,
        client_of(url, profile, version, on_permission=bob) as second,
    ):
        session = await first.new_session(cwd="/tmp")
        watched = await second.load_session(session.id, cwd="/tmp")
        reply = session.prompt("ask")
        await until(lambda: ada.asked and bob.asked)
        bob.go.set()
        assert (await reply).text == "no"
        await until(lambda: ada.was_withdrawn)
        await until(lambda: "no" in texts(watched))


async def test_a_turn_outlives_its_connection_and_the_question_is_asked_again(version: ProtocolVersion):
    farm, ada, again = Farm(), Person(), Person()
    again.go.set()
    router = farm.router()
    async with routed(router) as url, cutting_proxy(url) as (through, proxy):
        target = Remote(through, profile="websocket", resume_seconds=0)
        async with Client(target, version=version, on_permission=ada) as first:
            session = await first.new_session(cwd="/tmp")
            reply = session.prompt("ask")
            await until(lambda: ada.asked)
            proxy.is_down = True
            proxy.cut_all()
            with pytest.raises(ConnectionClosed):
                await reply
        await until(lambda: not router.snapshot().connections)
        (status,) = router.snapshot().sessions
        assert (status.state, status.clients) == ("waiting", ())
        async with client_of(url, "websocket", version, on_permission=again) as second:
            found = await second.load_session(session.id, cwd="/tmp")
            await until(lambda: "yes" in texts(found))
        assert (again.asked, farm.answers, len(farm.started)) == (["Delete everything"], [True], 1)


async def test_a_client_joins_in_the_middle_of_a_turn(profile: Profile, version: ProtocolVersion):
    farm = Farm()
    async with routed(farm.router()) as url, client_of(url, profile, version) as first:
        session = await first.new_session(cwd="/tmp")
        reply = session.prompt("wait")
        await until(lambda: texts(session).endswith("begun "))
        async with client_of(url, profile, version) as second:
            found = await second.load_session(session.id, cwd="/tmp")
            assert texts(found) == "waitbegun "
            farm.go.set()
            assert (await reply).text == "begun done"
            await until(lambda: texts(found) == "waitbegun done")


async def test_an_idle_session_sleeps_and_the_next_prompt_wakes_it(profile: Profile, version: ProtocolVersion):
    farm = Farm()
    router = farm.router(idle_seconds=0.05)
    async with routed(router) as url, client_of(url, profile, version) as client:
        session = await client.new_session(cwd="/tmp")
        await session.prompt("one")
        await until(lambda: router.snapshot().sessions[0].state == "asleep")
        await until(lambda: not router.snapshot().processes)
        reply = (await session.prompt("which")).text
        assert reply != "process 0"
        assert texts(session) == f"oneonewhich{reply}"


async def test_a_session_without_clients_ends_and_a_load_starts_a_process(profile: Profile, version: ProtocolVersion):
    farm = Farm()
    router = farm.router(idle_seconds=0.05)
    async with routed(router) as url:
        async with client_of(url, profile, version) as client:
            session = await client.new_session(cwd="/tmp")
            await session.prompt("one")
        await until(lambda: not router.snapshot().processes and not router.snapshot().sessions)
        async with client_of(url, profile, version) as client:
            found = await client.load_session(session.id, cwd="/tmp")
            assert texts(found) == "oneone"
            assert (await found.prompt("which")).text != "process 0"


async def test_a_killed_process_fails_its_requests_and_no_others(profile: Profile, version: ProtocolVersion):
    farm = Farm()
    router = farm.router()
    async with routed(router) as url, client_of(url, profile, version) as client:
        lost, healthy = [await client.new_session(cwd="/tmp") for _ in range(2)]
        reply = lost.prompt("wait")
        await until(lambda: texts(lost).endswith("begun "))
        await farm.kill(0)
        with pytest.raises(RequestFailed, match="the agent's process ended"):
            await reply
        assert (await healthy.prompt("which")).text == "process 1"
        farm.go.set()
        assert (await lost.prompt("which")).text == "process 2"
        assert router.snapshot().totals.processes_lost == 1


async def test_many_connections_start_no_process(profile: Profile):
    farm = Farm()
    router = farm.router()
    async with routed(router) as url, client_of(url, profile) as client:
        session = await client.new_session(cwd="/tmp")

        async def connect() -> None:
            async with client_of(url, profile) as other:
                await other.load_session(session.id, cwd="/tmp")

        await asyncio.gather(*(connect() for _ in range(20)))
        assert len(farm.started) == 1
    assert router.snapshot().totals.connections == 21


async def test_the_first_connections_of_all_share_one_initialize(profile: Profile):
    farm = Farm()
    async with routed(farm.router()) as url:

        async def connect() -> None:
            async with client_of(url, profile):
                pass

        await asyncio.gather(*(connect() for _ in range(10)))
    assert len(farm.started) == 1
