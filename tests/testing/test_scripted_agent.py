from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from accord import AuthRequired, Client, ConnectionClosed, InvalidParams, RequestFailed, permissions
from accord.schema.v1 import PromptResponse
from accord.session.updates import ToolCallPatch
from accord.testing import ScriptedAgent


async def test_an_agent_that_was_told_nothing_can_be_connected_with(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    client = await acp_connect(agent)
    one, two = await client.new_session("/one"), await client.new_session("/two")
    assert (one.id, two.id) == ("session-1", "session-2")
    assert [call.params["cwd"] for call in agent.calls("session/new")] == ["/one", "/two"]


async def test_without_a_version_it_speaks_what_the_client_offers(acp_version, acp_connect):
    agent = ScriptedAgent()
    client = await acp_connect(agent)
    assert agent.version == acp_version
    assert client.agent.version == (1 if acp_version == 1 else 2)


async def test_a_reply_is_a_whole_turn_in_every_version(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("session/prompt", agent.reply("Hello ", "you", stop_reason="max_tokens"))
    session = await (await acp_connect(agent, strict=True)).new_session("/work")
    for _ in range(2):
        reply = await session.prompt("hi")
        assert reply.text == "Hello you"
        assert reply.stop_reason == "max_tokens"


async def test_answers_are_given_one_after_the_other_and_the_last_one_stays(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("session/new", AuthRequired(), InvalidParams("not here"), {"sessionId": "s"})
    client = await acp_connect(agent)
    with pytest.raises(AuthRequired):
        await client.new_session("/work")
    with pytest.raises(InvalidParams):
        await client.new_session("/work")
    assert {(await client.new_session("/work")).id for _ in range(3)} == {"s"}


async def test_a_test_may_answer_by_hand(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    session = await (await acp_connect(agent)).new_session("/work")
    reply = session.prompt("hi")
    asked = await agent.next("session/prompt")
    assert asked.params["prompt"] == [{"type": "text", "text": "hi"}]
    agent.begin(asked)
    agent.say("He")
    agent.say("llo")
    agent.finish(asked)
    assert (await reply).text == "Hello"


async def test_a_handler_may_ask_the_client_and_check_the_answer(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]

    @agent.on("session/prompt")
    async def sweep(asked):
        agent.begin(asked)
        agent.tell(ToolCallPatch(id="c", title="Sweep", kind="delete"))
        subject = {"title": "Sweep?", "subject": {"type": "tool_call", "toolCall": {"toolCallId": "c"}}}
        call = subject if acp_version == 2 else {"toolCall": {"toolCallId": "c", "title": "Sweep"}}
        params = {"sessionId": agent.session_id, "options": options, **call}
        answer = await agent.ask("session/request_permission", params)
        agent.say(answer.result["outcome"]["optionId"])
        agent.finish(asked)

    client = await acp_connect(agent, on_permission=permissions.allow_all)
    session = await client.new_session("/work")
    assert (await session.prompt("go")).text == "y"
    assert session.transcript.tool_calls["c"].title == "Sweep"


async def test_it_says_types_of_the_schema_and_updates_that_nobody_knows(acp_connect):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", PromptResponse(stop_reason="refusal"))
    client = await acp_connect(agent, version=1)
    session = await client.new_session("/work")
    agent.update("_acme_weather", sun=True)
    assert (await session.prompt("go")).stop_reason == "refusal"


async def test_what_a_handler_has_had_is_not_next_but_was_seen(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("_acme/ping", "pong", None)
    client = await acp_connect(agent)
    assert await client.request("_acme/ping", [1]) == "pong"
    second = asyncio.create_task(client.request("_acme/ping", [2]))
    asked = await agent.next("_acme/ping")
    assert asked.params == [2]
    asked.answer("at last")
    assert await second == "at last"
    assert (await agent.seen("_acme/ping")).params == [1]
    assert await agent.seen("_acme/ping", 2) is asked


@pytest.mark.bad_frames
async def test_it_says_nonsense(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    client = await acp_connect(agent)
    agent.send(b'{"jsonrpc": "2.0", "meth')
    refusal = await agent.next(where=lambda heard: heard.error is not None)
    assert (refusal.id, refusal.error["code"]) == (None, -32700)
    agent.send([{"jsonrpc": "2.0", "id": 1, "method": "_a/b"}])
    batch = await agent.next()
    while not isinstance(batch.json, list):
        batch = await agent.next()
    assert batch.json[0]["error"]["code"] == -32601
    assert (await client.new_session("/work")).id == "session-1"


async def test_what_is_not_scripted_waits_for_the_test(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    client = await acp_connect(agent)
    asking = asyncio.create_task(client.request("_acme/ping"))
    (await agent.next("_acme/ping")).fail(-32050, "Not today", {"why": "rain"})
    with pytest.raises(RequestFailed, match="Not today") as raised:
        await asking
    assert (raised.value.code, raised.value.data) == (-32050, {"why": "rain"})


async def test_a_failed_handler_fails_the_request_and_the_check(acp_version):
    agent = ScriptedAgent(acp_version)

    @agent.on("_acme/ping")
    async def ping(asked):
        assert asked.params == {"loud": True}

    async with Client(agent, version=acp_version) as client:
        with pytest.raises(RequestFailed, match="the script failed at _acme/ping"):
            await client.request("_acme/ping")
    with pytest.raises(AssertionError, match="client → agent  _acme/ping #1"):
        agent.check()


async def test_an_agent_that_dies_tells_how_as_a_program_would(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    agent.on("session/prompt", lambda asked: agent.die(3, "out of coffee"))
    session = await (await acp_connect(agent)).new_session("/work")
    with pytest.raises(ConnectionClosed, match="out of coffee") as raised:
        await session.prompt("go")
    assert raised.value.exit_code == 3


async def test_a_wait_ends_with_the_client_and_shows_the_conversation(acp_version):
    agent = ScriptedAgent(acp_version, patience=30)
    async with Client(agent, version=acp_version) as client:
        waiting = asyncio.create_task(agent.next("session/cancel"))
        await client.new_session("/work")
    with pytest.raises(AssertionError) as raised:
        await waiting
    assert "waited for session/cancel" in str(raised.value)
    assert 'client → agent  session/new #1 {"cwd": "/work"' in str(raised.value)


async def test_a_wait_ends_when_patience_is_over(acp_connect):
    agent = ScriptedAgent(patience=0.001)
    await acp_connect(agent)
    with pytest.raises(AssertionError, match=r"waited for session/cancel for 0\.001 s"):
        await agent.next("session/cancel")


async def test_it_can_be_connected_with_again(acp_version):
    agent = ScriptedAgent(acp_version)
    for number in (1, 2):
        async with Client(agent, version=acp_version) as client:
            await client.new_session("/work")
        assert agent.connections == number
    with pytest.raises(AssertionError, match="closed"):
        await agent.next("session/cancel")


async def test_saying_something_to_nobody_says_what_to_do():
    with pytest.raises(RuntimeError, match="nobody is connected"):
        ScriptedAgent().say("hello")
    with pytest.raises(RuntimeError, match="after initialize"):
        ScriptedAgent().tell(ToolCallPatch(id="c"))


async def test_a_file_with_a_scripted_agent_is_a_program(acp_version, acp_connect, tmp_path: Path):
    file = tmp_path / "rude.py"
    file.write_text("""
from accord.testing import ScriptedAgent

agent = ScriptedAgent()
agent.on("session/prompt", agent.reply("Go away"), lambda asked: agent.die(5, "Enough"))
agent.run()
""")
    client = await acp_connect([sys.executable, "-W", "error", str(file)])
    session = await client.new_session("/work")
    assert (await session.prompt("hi")).text == "Go away"
    with pytest.raises(ConnectionClosed, match="Enough") as raised:
        await session.prompt("hi")
    assert raised.value.exit_code == 5
