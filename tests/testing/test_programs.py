from __future__ import annotations

import asyncio
import subprocess

import pytest

from accord import Client, ConnectionClosed
from accord.testing import Dies, ScriptedAgent, ScriptedClient, faulty, program


async def test_a_scripted_agent_is_a_program_while_the_script_stays_in_the_test(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    async with program(agent) as command:
        client = await acp_connect(command)
        session = await client.new_session("/")
        reply = session.prompt("hi")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.say("x" * 300_000)
        agent.finish(asked)
        assert len((await reply).text) == 300_000
        await client.aclose()
        assert (await client.wait_closed()).exit_code == 0


async def test_a_program_dies_with_its_exit_code_and_last_words(acp_version, acp_connect):
    agent = ScriptedAgent(acp_version)
    async with program(agent) as command:
        session = await (await acp_connect(command)).new_session("/")
        reply = session.prompt("hi")
        await agent.next("session/prompt")
        agent.die(7, "out of coffee")
        with pytest.raises(ConnectionClosed, match="out of coffee") as raised:
            await reply
        assert raised.value.exit_code == 7


async def test_our_own_agent_is_a_program_too(echo, acp_version):
    async with program(echo) as command, ScriptedClient(command, acp_version) as client:
        await client.new_session()
        assert await client.stop_reason(client.prompt("hello")) == "end_turn"


async def test_any_client_can_start_it_and_a_torn_frame_has_no_newline():
    agent = ScriptedAgent(1)
    async with program(faulty(agent, Dies(1, torn=True, exit_code=3, stderr="Killed"))) as command:
        line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
        finished = await asyncio.to_thread(subprocess.run, command.args, input=line, capture_output=True, check=False)
    assert (finished.returncode, finished.stderr) == (3, b"Killed")
    assert finished.stdout.startswith(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1')
    assert not finished.stdout.endswith((b"}", b"\n"))


async def test_the_end_of_its_input_is_the_end_of_the_connection():
    agent = ScriptedAgent(1)
    async with program(agent) as command:
        finished = await asyncio.to_thread(
            subprocess.run, command.args, input=b"{}\n", capture_output=True, check=False
        )
        await agent.until_closed()
    assert finished.returncode == 0
    assert [heard.json for heard in agent.received] == [{}]


async def test_what_does_not_know_the_secret_is_not_served():
    agent = ScriptedAgent(1)
    async with program(agent) as command:
        wrong = [*command.args[:-1], command.args[-1].rpartition(":")[0] + ":" + "0" * 32]
        finished = await asyncio.to_thread(subprocess.run, wrong, input=b"{}\n", capture_output=True, check=False)
    assert (finished.stdout, agent.connections) == (b"", 0)


async def test_programs_that_run_end_with_the_block():
    async with program(ScriptedAgent(1)) as command:
        client = Client(command, version=1)
        await client.open()
    assert (await client.wait_closed()).exit_code == 0
    await client.aclose()
