"""Questions by URL: the user opens a page, and the agent tells when what it was for is done."""

from __future__ import annotations

import asyncio

import pytest

from accord import Agent, Client, Turn
from accord.session.requests import ElicitationAnswer, ElicitationCompleted
from accord.testing import ScriptedAgent
from tests.client.words import CWD


def page(id="p", **scope):
    return {"mode": "url", "message": "Sign in, please", "url": "https://x.test", "elicitationId": id, **scope}


async def accept(asked):
    return ElicitationAnswer(action="accept")


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def url_version(request):
    return request.param


async def test_the_agent_says_when_a_page_is_dealt_with(url_version):
    done = asyncio.Queue()
    agent = Agent("opener")

    @agent.prompt
    async def work(turn: Turn) -> None:
        assert await turn.ask_to_open("Sign in, please", "https://x.test", "p")
        await turn.client.notify(ElicitationCompleted(elicitation_id="p"))

    async with Client(agent, version=url_version, on_elicitation=accept, on_elicitation_complete=done.put) as client:
        session = await client.new_session(CWD)
        await session.prompt("go")
        asked = await done.get()
        assert (asked.elicitation_id, asked.url, asked.session_id) == ("p", "https://x.test", session.id)


async def test_a_page_is_completed_once_and_only_if_it_was_opened(url_version):
    done = []

    async def choose(asked):
        return ElicitationAnswer(action="accept" if asked.elicitation_id == "a" else "decline")

    agent = ScriptedAgent(url_version)
    async with Client(agent, version=url_version, on_elicitation=choose, on_elicitation_complete=done.append) as client:
        session = await client.new_session(CWD)
        for id in ("a", "b"):
            await agent.ask("elicitation/create", page(id, sessionId=session.id))
        for id in ("unknown", "b", "a", "a"):
            agent.notify("elicitation/complete", {"elicitationId": id})
        await agent.ask("elicitation/create", page("c", sessionId=session.id))
    assert [asked.elicitation_id for asked in done] == ["a"]


async def test_a_page_may_be_dealt_with_before_the_user_has_answered(url_version):
    done = asyncio.Event()

    async def wait(asked):
        await done.wait()
        return ElicitationAnswer(action="accept")

    agent = ScriptedAgent(url_version)
    async with Client(
        agent, version=url_version, on_elicitation=wait, on_elicitation_complete=lambda asked: done.set()
    ) as client:
        session = await client.new_session(CWD)
        question = agent.ask("elicitation/create", page(sessionId=session.id))
        agent.on("_ready", {})
        await client.request("_ready")
        agent.notify("elicitation/complete", {"elicitationId": "p"})
        assert (await question).result["action"] == "accept"


async def test_without_a_hook_the_end_of_a_page_is_ignored(url_version):
    agent = ScriptedAgent(url_version)
    agent.on("_still/there", {})
    async with Client(agent, version=url_version, on_elicitation=accept) as client:
        session = await client.new_session(CWD)
        await agent.ask("elicitation/create", page(sessionId=session.id))
        agent.notify("elicitation/complete", {"elicitationId": "p"})
        assert await client.request("_still/there") == {}
