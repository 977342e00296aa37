from __future__ import annotations

import asyncio

import pytest

from accord import Agent, Client, ConnectionClosed, RequestFailed, Turn, permissions
from accord.testing import Recording, ReplayedAgent, ScriptedAgent, replay
from accord.testing.recording_playback import Account


async def recorded(agent, version, prompts=("hello you", "ask"), policy=permissions.allow_all) -> Recording:
    recording = Recording()
    async with Client(recording.of(agent), version=version, on_permission=policy) as client:
        session = await client.new_session("/")
        for prompt in prompts:
            await session.prompt(prompt)
    return recording


async def test_the_same_agent_says_the_same_again(echo, acp_version):
    recording = await recorded(echo, acp_version)
    again = await replay(recording, echo)
    assert len(again.entries) == len(recording.entries)
    assert str(again) != str(recording)  # other ids


async def test_how_a_text_is_cut_does_not_count(echo, acp_version):
    recording = await recorded(echo, acp_version, ["one two three four"])
    merging = Agent("echo", "1.0", merge_seconds=0.02)
    merging.prompt(echo._definition.prompt_handler)
    await replay(recording, merging)


@pytest.mark.parametrize(
    ("said", "difference"),
    [("hello", "recorded .*hello you .*, now .*hello"), ("HELLO YOU ", r"\$\.params\.update\.content\.text: recorded")],
)
async def test_an_agent_that_says_something_else_is_told_what(echo, acp_version, said, difference):
    recording = await recorded(echo, acp_version, ["hello you"])
    other = Agent("echo", "1.0", merge_seconds=0.0)

    @other.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(said)

    with pytest.raises(AssertionError, match="the agent says something else than it did") as raised:
        await replay(recording, other)
    import re

    assert re.search(difference, str(raised.value)), raised.value
    assert "--- recorded\n+++ now" in str(raised.value)


async def test_an_agent_that_says_too_much_or_too_little_is_told(echo, acp_version):
    recording = await recorded(echo, acp_version, ["hello"])
    other = Agent("echo", "1.0", merge_seconds=0.0)

    @other.prompt
    async def answer(turn: Turn) -> None:
        await turn.say("hello ")
        await turn.set_title("One thing more")

    with pytest.raises(AssertionError, match="One thing more"):
        await replay(recording, other)
    with pytest.raises(AssertionError, match="waited for what the agent said next"):
        await replay(
            recording, ScriptedAgent(acp_version, patience=0), ignore=_EVERYTHING_OF_THE_HANDSHAKE, patience=0.05
        )


_EVERYTHING_OF_THE_HANDSHAKE = ["result"]


async def test_members_can_be_ignored(echo, acp_version):
    recording = await recorded(echo, acp_version, ["hello"])
    renamed = Agent("echo", "2.0", merge_seconds=0.0)
    renamed.prompt(echo._definition.prompt_handler)
    if acp_version == 1:
        await replay(recording, renamed, ignore=["version"])
        return
    with pytest.raises(AssertionError, match=r'version: recorded "1\.0", now "2\.0"'):
        await replay(recording, renamed)
    await replay(recording, renamed, ignore=["version"])


async def test_an_agent_that_dies_ends_the_replay(echo, acp_version):
    recording = await recorded(echo, acp_version, ["hello"])
    dying = ScriptedAgent(acp_version)
    dying.on("initialize", lambda asked: dying.die(3, "Killed"))
    with pytest.raises(AssertionError, match="The connection is closed: the scripted agent died"):
        await replay(recording, dying)


async def test_a_recorded_agent_plays_its_side_to_a_client(echo, acp_version, acp_connect, tmp_path):
    (await recorded(echo, acp_version)).save(tmp_path / "echo.jsonl")
    agent = ReplayedAgent(Recording.load(tmp_path / "echo.jsonl"))
    for _ in range(2):  # each connection begins anew
        client = await acp_connect(agent, on_permission=permissions.allow_all)
        session = await client.new_session("/")
        assert (await session.prompt("hello you")).text == "hello you "
        assert (await session.prompt("ask")).text == "Yes"
        agent.check()
        await client.aclose()


async def test_a_client_with_other_ids_gets_its_answers(echo):
    recording = await recorded(echo, 1, ["hello"])
    agent = ReplayedAgent(recording)
    async with Client(agent, version=1) as client:
        client.peer.post("_x/y")
        with pytest.raises(RequestFailed, match="is not in the recording"):
            await client.request("_acme/ping")
        session = await client.new_session("/")
        assert (await session.prompt("hello")).text == "hello "
    with pytest.raises(AssertionError, match="the script failed"):
        agent.check()


async def test_a_client_that_says_something_else_is_told_what(echo, acp_version):
    agent = ReplayedAgent(await recorded(echo, acp_version, ["hello"]))
    async with Client(agent, version=acp_version, on_permission=permissions.allow_all) as client:
        session = await client.new_session("/elsewhere")
        await session.prompt("hello")
    with pytest.raises(AssertionError, match=r'cwd: recorded "/", now "/elsewhere"'):
        agent.check()


async def test_a_client_that_says_too_little_is_told(echo, acp_version):
    agent = ReplayedAgent(await recorded(echo, acp_version, ["hello"]))
    async with Client(agent, version=acp_version, on_permission=permissions.allow_all) as client:
        await client.new_session("/")
    with pytest.raises(AssertionError, match="the client has not said: session/prompt"):
        agent.check()


async def test_a_recorded_death_is_died_again(acp_version):
    agent, recording = ScriptedAgent(acp_version), Recording()
    agent.on("session/prompt", lambda asked: agent.die(7, "Killed"))
    for target in (recording.of(agent), ReplayedAgent(recording)):
        async with Client(target, version=acp_version) as client:
            session = await client.new_session("/")
            with pytest.raises(ConnectionClosed, match="Killed") as raised:
                await session.prompt("hi")
            assert raised.value.exit_code == 7


async def test_a_cancel_is_replayed_when_the_agent_has_said_what_came_before(echo, acp_version):
    recording = Recording()
    async with Client(recording.of(echo), version=acp_version) as client:
        session = await client.new_session("/")
        reply = session.prompt("hang")
        async for change in reply:
            if getattr(change, "text", None) == "Hanging":
                await reply.cancel()
        assert reply.stop_reason == "cancelled"
    async with asyncio.timeout(120):
        await replay(recording, echo)


def test_generated_ids_times_and_uuids_are_no_difference():
    one, two = Account(), Account()
    one.add("agent", b'{"id":1,"method":"x","params":{"sessionId":"a","at":"2026-01-01T00:00:00Z","n":"a","to":"a"}}')
    two.add(
        "agent", b'{"id":9,"method":"x","params":{"sessionId":"b","at":"2025-12-31T23:59:59.5+01:00","n":"a","to":"a"}}'
    )
    assert one.statements == two.statements
    one.add("agent", b'{"method":"x","params":{"id":"6f9619ff-8b86-d011-b42d-00cf4fc964ff"}}')
    two.add("agent", b'{"method":"x","params":{"id":"7f9619ff-8b86-d011-b42d-00cf4fc964ff"}}')
    assert one.statements == two.statements
    one.add("client", b'{"id":1,"result":{}}')
    two.add("client", b'{"id":9,"result":{}}')
    assert one.statements == two.statements
    one.add("client", b"oops")
    assert one.statements != two.statements
