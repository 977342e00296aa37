from __future__ import annotations

import asyncio

import pytest

from accord import Client, ConnectionClosed, DeadlineExceeded
from accord.client.deadlines import Deadlines
from accord.testing import (
    AnswersFirst,
    AnswersSwapped,
    Dies,
    Fault,
    Noisy,
    ScriptedAgent,
    ScriptedClient,
    Silent,
    Slow,
    faulty,
)
from tests import virtual_clock

PATIENT = Deadlines(handshake=None, request=None)


def test_a_slow_agent_takes_its_time_and_keeps_the_order(acp_version):
    async def main():
        agent = ScriptedAgent(acp_version)
        agent.on("session/prompt", agent.reply("a", "b", "c"))
        async with Client(faulty(agent, Slow(3600)), version=acp_version, deadlines=PATIENT) as client:
            session = await client.new_session("/")
            assert (await session.prompt("go")).text == "abc"
            assert asyncio.get_running_loop().time() == 3 * 3600

    virtual_clock.run(main())


def test_a_slow_agent_dies_slowly():
    async def main():
        agent = ScriptedAgent(1)
        agent.on("session/new", lambda asked: agent.die(4))
        async with Client(faulty(agent, Slow(10)), deadlines=PATIENT) as client:
            with pytest.raises(ConnectionClosed) as raised:
                await client.new_session("/")
            assert raised.value.exit_code == 4
            assert asyncio.get_running_loop().time() == 20

    virtual_clock.run(main())


def test_a_silent_agent_never_answers_but_works_on(acp_version):
    async def main():
        agent = ScriptedAgent(acp_version)
        agent.on("_acme/ping", "pong")
        client = Client(faulty(agent, Silent("_acme/ping")), version=acp_version)
        async with client:
            with pytest.raises(DeadlineExceeded):
                await client.request("_acme/ping", deadline=60)
            assert (await client.new_session("/")).id == "session-1"

    virtual_clock.run(main())


@pytest.mark.bad_frames
async def test_a_noisy_agent_is_understood_all_the_same(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("session/prompt", agent.reply(*"Hello you"))
    session = await (await acp_connect(faulty(agent, Noisy()))).new_session("/")
    assert (await session.prompt("go")).text == "Hello you"
    assert [heard for heard in agent.received if str(heard.id).startswith("noise")] == []


@pytest.mark.bad_frames
async def test_the_noise_may_be_our_own_and_the_clients(echo, acp_version):
    noise = Noisy(b"Debugger attached", {"jsonrpc": "2.0", "method": "_x"}, side="client")
    async with ScriptedClient(faulty(echo, noise), acp_version) as client:
        await client.new_session()
        assert await client.stop_reason(client.prompt("hello")) == "end_turn"
        refusals = [heard.error["code"] for heard in client.received if heard.error is not None]
        assert refusals == [-32700, -32700]


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("after", [3, "session/prompt", "session/update"])
@pytest.mark.bad_frames
async def test_a_dying_agent_ends_the_turn_with_its_last_words(acp_version, acp_connect, after, torn):
    agent = ScriptedAgent(acp_version)
    agent.on("session/prompt", agent.reply("Hello"))
    fault = Dies(after, torn=torn, exit_code=-9, stderr="Killed")
    session = await (await acp_connect(faulty(agent, fault))).new_session("/")
    with pytest.raises(ConnectionClosed, match="Killed") as raised:
        await session.prompt("go")
    assert raised.value.exit_code == -9


async def test_each_connection_begins_anew_with_the_faults(acp_version):
    agent = faulty(ScriptedAgent(acp_version), Dies("session/new", count=2))
    for _ in range(2):
        async with Client(agent, version=acp_version) as client:
            await client.new_session("/")
            with pytest.raises(ConnectionClosed):
                await client.new_session("/")


async def test_an_agent_may_be_dead_from_the_start():
    with pytest.raises(ConnectionClosed, match="the agent died"):
        await Client(faulty(ScriptedAgent(), Dies(0))).open()


async def test_a_dying_client_ends_the_agents_turn(echo, acp_version):
    async with ScriptedClient(faulty(echo, Dies("session/prompt", side="client")), acp_version) as client:
        await client.new_session()
        client.prompt("hang")
        await client.until_closed()
    assert echo._definition.prompt_handler is not None


async def test_updates_after_the_answer_are_told_while_idle(acp_connect):
    told = asyncio.Queue()
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("late"))
    client = await acp_connect(faulty(agent, AnswersFirst()), version=1, on_update=told.put)
    session = await client.new_session("/")
    assert (await session.prompt("go")).text == ""
    assert (await told.get()).update.text == "late"


async def test_swapped_answers_find_their_questions(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("_acme/ping", lambda asked: {"pong": asked.params})
    client = await acp_connect(faulty(agent, AnswersSwapped()))
    order = []

    async def ping(number):
        assert await client.request("_acme/ping", number) == {"pong": number}
        order.append(number)

    await asyncio.gather(*(ping([number]) for number in range(5)))
    assert order == [[4], [3], [2], [1], [0]]


@pytest.mark.parametrize("fault", [AnswersFirst, AnswersSwapped])
async def test_what_is_held_is_let_go_at_the_end(fault):
    agent = ScriptedAgent(1)
    async with ScriptedClient(faulty(agent, fault()), 1) as client:
        await client.new_session()
        prompt, ping = client.prompt("go"), client.ask("_acme/ping", {})
        await agent.next("_acme/ping")
        agent.say("held")
        (await agent.next("session/prompt")).answer({"stopReason": "end_turn"})
        agent.die()
        await client.until_closed()
        assert client.said() == "held"
        assert (await prompt).result == {"stopReason": "end_turn"}
        with pytest.raises(AssertionError):
            await ping


async def test_faults_stack_and_can_be_written(acp_version, acp_connect):
    class Shouting(Fault):
        def says(self, frame: bytes) -> None:
            self.pass_on(frame.replace(b"hello", b"HELLO"))

    agent = ScriptedAgent(acp_version)
    agent.on("session/prompt", agent.reply("hello"))
    target = faulty(agent, Shouting(), Slow(0.001), AnswersSwapped())
    session = await (await acp_connect(target)).new_session("/")
    assert (await session.prompt("go")).text == "HELLO"
