"""Updates that are read the short way, as outside strict mode nearly all are, beside some that are not."""

from __future__ import annotations

import asyncio
from typing import TypeGuard

import pytest

from accord import Client, MessageChunk, ToolCallChanged
from accord.peer import Limits
from accord.session.updates import UnknownUpdate
from accord.testing import ScriptedAgent
from tests.client.words import CWD
from tests.peer.joined import until


async def test_both_ways_keep_the_order(version):
    agent = ScriptedAgent(version)

    @agent.on("session/prompt")
    def speak(asked):
        agent.begin(asked)
        for number in range(20):
            agent.say(f"{number} ")
            agent.update("_own", number=number)
            agent.update(
                "tool_call_update",
                toolCallId="c",
                title=f"{number}",
                status="in_progress" if number < 19 else "completed",
                locations=[{"path": 7}],
            )
            agent.notify("_acme/mark", {"number": number})
        agent.finish(asked)

    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        changes = [change async for change in reply]
        assert (await reply).text == "".join(f"{number} " for number in range(20))
    told = [change for change in changes if isinstance(change, (UnknownUpdate, ToolCallChanged)) or said(change)]
    assert [type(change) for change in told] == [MessageChunk, UnknownUpdate, ToolCallChanged] * 20
    assert [change.call.title for change in told if isinstance(change, ToolCallChanged)] == list(map(str, range(20)))


def said(change) -> TypeGuard[MessageChunk]:
    return isinstance(change, MessageChunk) and change.role == "agent"


async def test_a_slow_reader_slows_the_agent_and_misses_nothing(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply(*(f"{index:1000}" for index in range(300))))
    async with Client(agent, version=version, strict=False, limits=Limits(queue_bytes=10_000)) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        text = ""
        async for change in reply:
            await asyncio.sleep(0)
            text += change.text if said(change) else ""
        assert text == "".join(f"{index:1000}" for index in range(300))


async def test_updates_of_a_session_that_is_not_named_yet_are_held(version):
    agent = ScriptedAgent(version)

    @agent.on("session/new")
    def opened(asked):
        agent.say("early", session_id="s-9", messageId="m")
        asked.answer({"sessionId": "s-9"})

    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        assert [message.text for message in session.transcript.messages.values()] == ["early"]


async def test_an_iteration_may_be_cancelled_and_another_reads_on(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, strict=False) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        texts: list[str] = []

        async def read() -> None:
            async for change in reply:
                texts.extend([change.text] if said(change) else [])

        reading = asyncio.create_task(read())
        agent.say("a", messageId="m")
        await until(lambda: texts)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        agent.say("b", messageId="m")
        agent.say("c", messageId="m")
        assert (await anext(change async for change in reply if said(change))).text == "b"
        agent.finish(asked)
        await read()
        assert texts == ["a", "c"]
