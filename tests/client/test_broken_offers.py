"""Agents that offer a method in their capabilities and answer it with -32601: code-puppy."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client
from accord.errors import MethodNotFound
from accord.testing import ScriptedAgent

OFFERS = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "close": {}, "fork": {}, "list": {}, "delete": {}},
    "auth": {"logout": {}},
}


def refusing(*methods: str) -> ScriptedAgent:
    agent = ScriptedAgent(1, agentCapabilities=OFFERS)
    for method in methods:
        agent.on(method, lambda asked: asked.fail(-32601, "Method not found", {"method": asked.method}))
    return agent


CALLS: dict[str, Any] = {
    "session/load": lambda client: client.load_session("old", "/work"),
    "session/resume": lambda client: client.resume_session("old", "/work"),
    "session/fork": lambda client: client.fork_session("old", "/work"),
    "session/list": lambda client: anext(client.list_sessions()),
    "session/delete": lambda client: client.delete_session("old"),
    "logout": lambda client: client.logout(),
}


@pytest.mark.parametrize("method", CALLS)
async def test_what_is_refused_is_offered_no_more_and_the_hint_is_true(method: str):
    agent = refusing(method)
    async with Client(agent, version=1) as client:
        with pytest.raises(MethodNotFound) as refused:
            await CALLS[method](client)
        assert "The peer does not have this method, even if its capabilities offer it" in str(refused.value)
        assert getattr(client.agent.capabilities, method.rpartition("/")[2]) is False
        with pytest.raises(MethodNotFound, match="Only methods that the peer's capabilities offer can be called"):
            await CALLS[method](client)
        assert len(agent.calls(method)) == 1


async def test_a_session_is_closed_here_when_the_agent_has_no_method_for_it():
    agent = refusing("session/close")
    async with Client(agent, version=1) as client:
        for _ in range(2):
            session = await client.new_session("/work")
            await session.close()
            assert session.is_closed
        assert client.sessions == []
        assert len(agent.calls("session/close")) == 1


async def test_what_runs_in_a_session_is_stopped_when_it_is_closed_here():
    agent = refusing("session/close")
    async with Client(agent, version=1) as client:
        session = await client.new_session("/work")
        reply = session.prompt("Go")
        asked = await agent.next("session/prompt")
        agent.on("session/cancel", lambda told: agent.finish(asked, "cancelled"))
        await session.close()
        assert (await reply).text == ""
        assert reply.stop_reason == "cancelled"
