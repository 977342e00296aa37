"""Which version two sides end up with, and what may come together with the handshake."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from accord.dialects.negotiation import Offered, offer
from accord.errors import InvalidParams, InvalidRequest, VersionRefused
from accord.jsonrpc.events import NotificationReceived, RequestReceived
from accord.peer import Peer
from accord.transports.memory import joined
from tests.conversations.agent_side import AgentSide
from tests.conversations.client_side import ClientSide
from tests.conversations.story import STORY
from tests.conversations.storyteller import tell_story


@pytest.mark.parametrize(
    ("offered", "versions", "agreed"),
    [
        ("auto", (1, 2), "v2"),
        ("auto", (1,), "v1"),
        ("auto", (2,), "v2"),
        (1, (1, 2), "v1"),
        (2, (1, 2), "v2"),
        ("2-draft", (1, 2), "v2 draft"),
    ],
)
@pytest.mark.requirement("INIT-03", "INIT-06", "INIT-13", "INIT-14", "INIT-15", "RPC-30", "AMB-15")
async def test_two_sides_agree_on_the_newest_version_that_both_have(
    offered: Offered, versions: tuple[int, ...], agreed: str
):
    ours, theirs = joined()
    async with AgentSide(theirs, tell_story, versions) as agent, ClientSide(ours, version=offered) as client:
        assert client.dialect is not None
        assert agent.dialect is not None
        assert client.dialect.name == agent.dialect.name == agreed
        assert await client.prompt(await client.new_session(), "refuse") == "refusal"


async def test_a_client_that_wants_another_version_says_so():
    ours, theirs = joined()
    async with AgentSide(theirs, tell_story, versions=(1,)):
        with pytest.raises(VersionRefused):
            async with ClientSide(ours, version=2):
                pass


def told_nothing(event: RequestReceived | NotificationReceived) -> None:
    return None


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_requests_sent_together_with_the_handshake_are_answered(version: Offered):
    """FN-07: a client need not wait for the answer to the handshake before it sends its next request."""
    ours, theirs = joined()
    async with AgentSide(theirs, tell_story), Peer(ours, told_nothing) as client:
        calls = [
            client.call("initialize", offer(version)),
            client.call("session/new", {"cwd": STORY["cwd"], "mcpServers": []}),
        ]
        async with asyncio.timeout(10):
            answers: list[Any] = [msgspec.json.decode(await call) for call in calls]
    assert answers[0]["protocolVersion"] == (1 if version == 1 else 2)
    assert answers[1]["sessionId"] == "session-0"


async def test_a_request_before_the_handshake_is_refused_and_the_connection_lives():
    ours, theirs = joined()
    async with AgentSide(theirs, tell_story), Peer(ours, told_nothing) as client:
        with pytest.raises(InvalidRequest):
            await client.request("session/new", {"cwd": STORY["cwd"], "mcpServers": []}, deadline=10)
        with pytest.raises(InvalidParams):
            await client.request("initialize", {"protocolVersion": "1"}, deadline=10)
        assert await client.request("initialize", offer(1), deadline=10)
