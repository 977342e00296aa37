"""Our client and agents that the official SDKs serve over HTTP and WebSocket."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord import Text, ToolCallChanged, permissions
from accord.transports.remote import Profile
from tests.conversations.story import MEBIBYTE
from tests.interop.official_agents import PYTHON, TYPESCRIPT_V1, TYPESCRIPT_V2, OfficialAgent, to_do

TYPESCRIPT = [
    pytest.param(TYPESCRIPT_V1, marks=pytest.mark.interop, id="typescript-v1"),
    pytest.param(TYPESCRIPT_V2, marks=pytest.mark.interop, id="typescript-v2"),
]
every_agent = pytest.mark.parametrize("agent", [pytest.param(PYTHON, id="python"), *TYPESCRIPT])
every_profile = pytest.mark.parametrize("profile", ["http", "websocket"])


@every_agent
@every_profile
async def test_a_turn_with_a_permission_runs_to_its_end(agent: OfficialAgent, profile: Profile, place: Path):
    for policy, reason in ((permissions.allow_all, "end_turn"), (permissions.reject_all, None)):
        async with agent.connected_by_url(profile, on_permission=policy) as client:
            session = await client.new_session(place)
            reply = await session.prompt("permission")
            assert reason is None or reply.stop_reason == reason
            assert (await session.prompt("stop refusal")).stop_reason == "refusal"


@every_agent
@every_profile
async def test_a_cancel_ends_a_turn(agent: OfficialAgent, profile: Profile, place: Path):
    async with agent.connected_by_url(profile) as client:
        session = await client.new_session(place)
        reply = session.prompt("wait")
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.status == "in_progress":
                await reply.cancel()
        assert (reply.stop_reason, reply.cancel_requested) == ("cancelled", True)


@every_agent
@every_profile
async def test_a_big_message_goes_there_and_back(agent: OfficialAgent, profile: Profile, place: Path):
    text = "größe 🐘 " * (MEBIBYTE // 12)
    async with agent.connected_by_url(profile) as client:
        session = await client.new_session(place)
        assert (await session.prompt(to_do("echo", Text(text)))).text == text


# The official Python server answers 404 to everything about a session that was loaded over HTTP.
@pytest.mark.parametrize(
    ("agent", "profile"),
    [
        pytest.param(PYTHON, "websocket", id="python-websocket"),
        pytest.param(TYPESCRIPT_V1, "http", id="v1-http", marks=pytest.mark.interop),
        pytest.param(TYPESCRIPT_V2, "http", id="v2-http", marks=pytest.mark.interop),
        pytest.param(TYPESCRIPT_V1, "websocket", id="v1-websocket", marks=pytest.mark.interop),
        pytest.param(TYPESCRIPT_V2, "websocket", id="v2-websocket", marks=pytest.mark.interop),
    ],
)
async def test_a_session_is_loaded(agent: OfficialAgent, profile: Profile, place: Path):
    async with agent.connected_by_url(profile) as client:
        first = await client.new_session(place)
        await first.prompt("stop refusal")
        await first.close()
        session = await client.load_session(first.id, cwd=place)
        assert (await session.prompt("stop refusal")).stop_reason == "refusal"


@pytest.mark.interop
async def test_the_server_is_reached_over_a_websocket_if_it_has_one():
    async with TYPESCRIPT_V1.connected_by_url("auto") as client:
        assert client.agent.info is not None
        assert client.agent.info.name == "official"
