"""Tool calls that go on beside the turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import AgentToolCall, Turn
from accord.session.requests import CloseSession
from accord.session.updates import StateChanged
from tests.agent.user import User, plain_agent


class Indexing:
    """An agent that begins to index with the prompt `index`, until a test says that it is done."""

    def __init__(self, error: Exception | None = None) -> None:
        self.agent = plain_agent()
        self.done = asyncio.Event()
        self.error = error
        self.agent.prompt(self.answer)

    async def answer(self, turn: Turn) -> None:
        if turn.text == "index":
            await turn.in_background(turn.tool_call("Index", kind="search"), self.index)
        await turn.say(f"said {turn.text}")
        if turn.text == "hang":
            await asyncio.Event().wait()

    async def index(self, call: AgentToolCall) -> None:
        await call.say("begun")
        await self.done.wait()
        if self.error is not None:
            raise self.error
        await call.say("found")


def states(user: User) -> list[tuple[Any, ...]]:
    return [
        (change.state.state, change.state.stop_reason, None if (work := change.state.background) is None else len(work))
        for change in user.changes
        if isinstance(change, StateChanged)
    ]


async def test_it_outlives_the_turn_and_a_cancel_and_is_listed_meanwhile(version):
    indexing = Indexing()
    async with User(indexing.agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "index") == "end_turn"
        reply = user.start(user.prompt(session, "hang"))
        await user.until("agent: said hang")
        await user.cancel(session)
        assert await reply == "cancelled"
        call = next(iter(user.transcripts[session].tool_calls.values()))
        assert call.status == "in_progress"
        indexing.done.set()
        await user.until("call-1 completed [begun] [found]")
        assert await user.prompt(session, "more") == "end_turn"
        if version == 2:
            assert states(user) == [
                ("running", None, None),
                ("running", None, 1),
                ("idle", "end_turn", 1),
                ("running", None, 1),
                ("idle", "cancelled", 1),
                ("idle", None, 0),
                ("running", None, 0),
                ("idle", "end_turn", 0),
            ]
            ended = user.seen.index("call-1 completed [begun] [found]")
            assert user.seen[ended + 1] == "idle"


async def test_it_ends_with_the_session_before_that_is_said(version):
    indexing = Indexing()
    async with User(indexing.agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "index")
        await user.ask(CloseSession(session_id=session))
        status = next(iter(user.transcripts[session].tool_calls.values())).status
        assert status == ("cancelled" if version == 2 else "failed")


async def test_it_fails_alone(version, caplog):
    indexing = Indexing(ValueError("broken on purpose"))
    async with User(indexing.agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "index")
        indexing.done.set()
        await user.until("call-1 failed [begun]")
        assert await user.prompt(session, "more") == "end_turn"
    assert "broken on purpose" in caplog.text


@pytest.mark.parametrize("version", [2])
async def test_a_session_without_any_does_not_speak_of_it(version):
    async with User(Indexing().agent, version) as user:
        await user.prompt(await user.new_session(), "x")
        assert states(user) == [("running", None, None), ("idle", "end_turn", None)]
