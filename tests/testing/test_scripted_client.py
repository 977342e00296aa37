from __future__ import annotations

import asyncio
import sys

import pytest

from accord import ConnectionClosed
from accord.testing import ScriptedClient


async def test_a_turn_is_a_few_lines_in_every_version(echo, acp_version):
    async with ScriptedClient(echo, acp_version) as client:
        await client.new_session()
        assert await client.stop_reason(client.prompt("hello you")) == "end_turn"
        assert client.said() == "hello you "
        assert client.updates("agent_message_chunk")[0]["content"] == {"type": "text", "text": "hello "}


async def test_what_it_hears_is_kept_in_order(echo, acp_version):
    async with ScriptedClient(echo, acp_version) as client:
        await client.new_session()
        prompt = client.prompt("hello")
        await client.stop_reason(prompt)
        methods = [heard.method or f"answer {heard.id}" for heard in client.received]
        assert methods[:2] == ["answer client-1", "answer client-2"]
        answer = methods.index(f"answer {prompt.id}")
        assert set(methods[2:answer] + methods[answer + 1 :]) == {"session/update"}
        assert (answer == len(methods) - 1) == (acp_version != 2)


async def test_each_frame_is_had_once(echo):
    async with ScriptedClient(echo, 1) as client:
        await client.new_session()
        prompt = client.prompt("one two")
        first, second = await client.next("session/update"), await client.next("session/update")
        assert [each.params["update"]["content"]["text"] for each in (first, second)] == ["one ", "two "]
        await prompt
        client.patience = 0.001
        with pytest.raises(AssertionError, match="waited for session/update"):
            await client.next("session/update")


@pytest.mark.bad_frames
async def test_raw_frames_and_odd_ids_are_sent_as_they_are(echo):
    async with ScriptedClient(echo) as client:
        client.send(b"{nonsense")
        assert (await client.next()).error["code"] == -32700
        client.send({"jsonrpc": "2.0", "id": "early", "method": "session/new", "params": {}})
        assert (await client.answer_to("early")).error["code"] == -32600
        client.send([])
        assert (await client.next()).error["code"] == -32600
        assert (await client.ask("initialize", {"protocolVersion": 1}, id=0.5)).id == 0.5


async def test_requests_of_the_agent_are_answered_as_the_script_says(echo, acp_version):
    async with ScriptedClient(echo, acp_version) as client:
        await client.new_session()
        prompt = client.prompt("ask")
        asked = await client.next("session/request_permission")
        (allow,) = [each for each in asked.params["options"] if each["kind"] == "allow_once"]
        asked.answer({"outcome": {"outcome": "selected", "optionId": allow["optionId"]}})
        await client.stop_reason(prompt)
        client.on("session/request_permission", {"outcome": {"outcome": "cancelled"}})
        await client.stop_reason(client.prompt("ask"))
        assert client.said() == "YesNo"


async def test_a_cancel_is_sent_when_the_test_wants_it(echo, acp_version):
    async with ScriptedClient(echo, acp_version) as client:
        await client.new_session()
        prompt = client.prompt("hang")
        await client.next("session/update", where=lambda heard: "content" in heard.params["update"])
        client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"


async def test_a_refused_session_and_a_failed_prompt_show_the_conversation(echo):
    async with ScriptedClient(echo, 1) as client:
        with pytest.raises(AssertionError, match="session/new was refused"):
            await client.new_session("relative")
        await client.new_session()
        with pytest.raises(AssertionError, match=r"the prompt failed\n(.|\n)*error #client-4"):
            await client.stop_reason(client.prompt("fail"))


async def test_a_command_is_a_target_and_its_end_ends_every_wait():
    program = "import sys; print('[1]', flush=True); sys.stdin.readline(); sys.exit('out of coffee')"
    async with ScriptedClient([sys.executable, "-c", program], patience=30) as client:
        assert (await client.next()).json == [1]
        greeting = asyncio.create_task(client.initialize())
        with pytest.raises(AssertionError, match="out of coffee") as raised:
            await greeting
        assert "agent hung up" in str(raised.value)
        assert await client.until_closed() == []
        assert isinstance(client.closed, ConnectionClosed)
        assert client.closed.exit_code == 1


async def test_the_rest_is_what_came_and_was_not_had():
    program = "import sys; sys.stdin.readline(); print('{}'); print('[]'); print('no'); sys.exit(0)"
    async with ScriptedClient([sys.executable, "-c", program]) as client:
        client.send({})
        assert (await client.next()).json == {}
        assert [heard.raw for heard in await client.until_closed()] == [b"[]", b"no"]


async def test_a_failed_handler_fails_the_test(echo):
    async def check(asked):
        raise AssertionError("not what I expected")

    client = ScriptedClient(echo, 1)
    await client.__aenter__()
    await client.new_session()
    client.on("session/request_permission", check)
    await client.stop_reason(client.prompt("ask"))
    with pytest.raises(AssertionError, match="the script failed"):
        await client.__aexit__(None)
