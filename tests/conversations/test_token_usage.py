"""The tokens that a turn took: told by the agent's author, read from a reply, in every version."""

from __future__ import annotations

import pytest

from accord import Agent, Client, StateChanged
from accord.session import TokenUsage
from accord.testing import ScriptedAgent
from tests.client.words import CWD

TOOK = TokenUsage(total=25, input=20, output=5, thought=2, cached_read=7, cached_write=0, meta={"by": "model"})
ON_WIRE = {
    "totalTokens": 25,
    "inputTokens": 20,
    "outputTokens": 5,
    "thoughtTokens": 2,
    "cachedReadTokens": 7,
    "cachedWriteTokens": 0,
    "_meta": {"by": "model"},
}


async def test_what_a_turn_took_reaches_the_client(version):
    agent = Agent("counting")

    @agent.prompt
    async def count(turn):
        await turn.say("Counted.")
        turn.token_usage = TOOK

    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("Count")
        changes = [change async for change in reply]
        assert reply.token_usage == TOOK
        ends = [change.state for change in changes if isinstance(change, StateChanged)]
        assert [state.token_usage for state in ends if state.state == "idle"] == [TOOK]


async def test_a_plain_function_tells_it_too(version):
    agent = Agent("counting")

    @agent.prompt
    def count(turn):
        turn.token_usage = TOOK
        assert turn.token_usage == TOOK

    async with Client(agent, version=version) as client:
        reply = (await client.new_session(CWD)).prompt("Count")
        await reply
        assert reply.token_usage == TOOK


@pytest.mark.parametrize(
    "wrong", [TokenUsage(total=-1, input=0, output=0), TokenUsage(total=1, input=1, output=1, thought=2**64)]
)
async def test_a_count_that_no_schema_takes_is_the_authors_mistake(wrong):
    agent, raised = Agent("counting"), []

    @agent.prompt
    async def count(turn):
        with pytest.raises(ValueError, match="tokens") as error:
            turn.token_usage = wrong
        raised.append(error)

    async with Client(agent) as client:
        await (await client.new_session(CWD)).prompt("Count")
        assert raised


async def test_what_agents_of_the_field_tell_is_read_and_what_is_not_a_count_is_ignored():
    agent = ScriptedAgent(1)
    usages = iter([ON_WIRE, {"totalTokens": "many"}, None])
    agent.on("session/prompt", lambda asked: {"stopReason": "end_turn", "usage": next(usages)})
    async with Client(agent, version=1, strict=False) as client:
        session = await client.new_session(CWD)
        for expected in (TOOK, None, None):
            reply = await session.prompt("Count")
            assert reply.token_usage == expected
