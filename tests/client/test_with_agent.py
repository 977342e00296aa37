"""Our client with our agent, in memory: as users test theirs."""

from __future__ import annotations

import asyncio

from accord import Agent, Client, MessageChunk, ToolCallChanged, Turn, permissions

agent = Agent("sweeper", version="1.0")


@agent.prompt
async def sweep(turn: Turn) -> None:
    async with turn.tool_call(f"Delete *.pyc in {turn.cwd}", kind="delete") as call:
        if await turn.allowed(call):
            await asyncio.sleep(0)
    await turn.say("Swept.")


async def test_the_sweeper_says_when_it_is_done(version):
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd="/repo")
        reply = await session.prompt("Sweep, please")
        assert await reply.text() == "Swept."
        assert reply.stop_reason == "end_turn"


async def test_a_client_can_print_what_happens(version, capsys):
    async with Client(agent, version=version, on_permission=permissions.allow_all) as client:
        session = await client.new_session(cwd="/repo")
        reply = await session.prompt("Sweep, please")
        async for update in reply:
            match update:
                case MessageChunk(text=text):
                    print(text, end="")  # noqa: T201
                case ToolCallChanged(call=call):
                    print(f"[{call.status}] {call.title}")  # noqa: T201
        print(reply.stop_reason)  # noqa: T201
    printed = capsys.readouterr().out
    assert "[completed] Delete *.pyc in /repo\n" in printed
    assert printed.endswith("Swept.end_turn\n")


async def test_without_a_policy_nothing_is_swept(version):
    async with Client(agent, version=version) as client:
        session = await client.new_session(cwd="/repo")
        await (await session.prompt("Sweep, please")).finished()
        assert [call.status for call in session.transcript.tool_calls.values()] == ["failed"]


async def test_a_turn_of_our_agent_can_be_cancelled(version):
    slow = Agent("slow", version="1.0")

    @slow.prompt
    async def wait(turn: Turn) -> None:
        await turn.say("Waiting")
        await asyncio.get_running_loop().create_future()

    async with Client(slow, version=version) as client:
        session = await client.new_session(cwd="/repo")
        reply = await session.prompt("Wait")
        async for update in reply:
            if isinstance(update, MessageChunk):
                await reply.cancel()
        assert reply.stop_reason == "cancelled"
        assert await reply.text() == "Waiting"
