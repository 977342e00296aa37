"""Our client with our agent, in memory: as users test theirs."""

from __future__ import annotations

import asyncio
import sys

import pytest

from accord import Agent, Client, MessageChunk, ToolCallChanged, Turn, permissions
from accord.client.target import Command
from accord.errors import InvalidParams
from accord.testing import ScriptedAgent

agent = Agent("sweeper", version="1.0")


@agent.prompt
async def sweep(turn: Turn) -> None:
    async with turn.tool_call(f"Delete *.pyc in {turn.cwd}", kind="delete") as call:
        if await turn.allowed(call):
            await asyncio.sleep(0)
    await turn.say("Swept.")


async def test_the_sweeper_says_when_it_is_done(version, tmp_path):
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd=tmp_path)
        reply = await session.prompt("Sweep, please")
        assert reply.text == "Swept."
        assert reply.stop_reason == "end_turn"


async def test_a_client_can_print_what_happens(version, capsys, tmp_path):
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd=tmp_path)
        reply = session.prompt("Sweep, please")
        async for update in reply:
            match update:
                case MessageChunk(text=text):
                    print(text, end="")  # noqa: T201
                case ToolCallChanged(call=call):
                    print(f"[{call.status}] {call.title}")  # noqa: T201
        print(reply.stop_reason)  # noqa: T201
    printed = capsys.readouterr().out
    assert f"[completed] Delete *.pyc in {tmp_path}\n" in printed
    assert printed.endswith("Swept.end_turn\n")


async def test_without_a_policy_nothing_is_swept(version, tmp_path):
    async with Client(agent, version=version) as client:
        session = await client.new_session(cwd=tmp_path)
        await session.prompt("Sweep, please")
        assert [call.status for call in session.transcript.tool_calls.values()] == ["failed"]


async def test_a_turn_of_our_agent_can_be_cancelled(version, tmp_path):
    slow = Agent("slow", version="1.0")

    @slow.prompt
    async def wait(turn: Turn) -> None:
        await turn.say("Waiting")
        await asyncio.get_running_loop().create_future()

    async with Client(slow, version=version) as client:
        session = await client.new_session(cwd=tmp_path)
        reply = session.prompt("Wait")
        async for update in reply:
            if isinstance(update, MessageChunk):
                await reply.cancel()
        assert reply.stop_reason == "cancelled"
        assert (await reply).text == "Waiting"


async def test_no_agent_on_this_machine_is_asked_for_a_session_in_a_directory_that_is_missing(version, tmp_path):
    (tmp_path / "file").write_text("")
    sent: list[bytes] = []
    async with Client(agent, version=version, on_frame=lambda direction, frame: sent.append(frame)) as client:
        before = len(sent)
        for name, reason in (("nothing", "no such directory"), ("file", "not a directory")):
            with pytest.raises(InvalidParams, match=f"cwd: {reason}: .*{name}") as raised:
                await client.new_session(cwd=tmp_path / name)
            assert raised.value.field == "cwd"
        assert len(sent) == before
        await client.new_session(cwd=tmp_path)


@pytest.mark.parametrize(
    ("command", "is_here"),
    [
        (["python", "agent.py"], True),
        (["ssh", "host", "accord", "agent"], False),
        (["/usr/bin/docker", "run", "-i", "agent"], False),
        (["env", "A=b", "ssh", "host", "agent"], False),
    ],
)
def test_a_command_is_on_this_machine_unless_it_runs_another_one_elsewhere(command, is_here):
    assert Command(command).is_on_this_machine is is_here
    assert Command(command, is_on_this_machine=not is_here).is_on_this_machine is not is_here


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_command_elsewhere_is_asked_for_any_directory(tmp_path, is_here):
    program = tmp_path / "agent.py"
    program.write_text("from accord import Agent\n\nagent = Agent('a')\nagent.prompt(lambda turn: None)\nagent.run()\n")
    async with Client(Command([sys.executable, str(program)], is_on_this_machine=is_here)) as client:
        if is_here:
            with pytest.raises(InvalidParams, match="no such directory"):
                await client.new_session(cwd="/no/such/place")
        else:
            assert (await client.new_session(cwd="/no/such/place")).cwd == "/no/such/place"


async def test_a_target_that_does_not_say_where_it_is_is_asked_for_any_directory(version):
    scripted = ScriptedAgent(version)
    async with Client(scripted, version=version) as client:
        await client.new_session(cwd="/no/such/place")
    assert scripted.calls("session/new")[0].params["cwd"] == "/no/such/place"
