"""The end of a tool call tells its whole outcome, and nothing of a plan stays in progress when a turn broke off."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Agent, AgentToolCall, SyncTurn, Turn
from accord.errors import RequestFailed
from accord.session.content import Text
from accord.session.entities import PlanEntry
from accord.session.updates import ToolCallPatch
from tests.agent.user import User, plain_agent

NEVER = 3600.0  # a window that does not end by itself


@pytest.fixture(params=[0.0, NEVER], ids=["at-once", "window"])
def agent(request: pytest.FixtureRequest) -> Agent:
    return plain_agent(merge_seconds=request.param)


def updates(user: User) -> list[dict[str, Any]]:
    """What was told of tool calls."""
    told = [frame["params"]["update"] for frame in user.sent() if frame.get("method") == "session/update"]
    return [each for each in told if each["sessionUpdate"].startswith("tool_call")]


def last(user: User, status: str) -> dict[str, Any]:
    """The last update of the only call, which is the only one with a final status."""
    *before, end = updates(user)
    assert end["status"] == status
    assert not [each for each in before if each.get("status") in ("completed", "failed", "cancelled")]
    return end


def shown(update: dict[str, Any]) -> list[str]:
    return [item["content"]["text"] for item in update["content"]]


async def test_it_tells_content_raw_output_and_status_together(version: Any, agent: Agent) -> None:
    """FN-114: a client that draws the call from this update alone draws all of it."""

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", content="before") as call:
            await call.say("one")
            await call.show(Text("two"))
            await call.update(raw_output={"found": 2}, title="Looked")

    async with User(agent, version) as user:
        await user.prompt(await user.new_session(), "x")
        end = last(user, "completed")
        assert shown(end) == ["before", "one", "two"]
        assert end["rawOutput"] == {"found": 2}
        assert "Looked" in [each.get("title") for each in updates(user)]


async def test_what_comes_right_before_it_is_told_with_it(version: Any) -> None:
    agent = plain_agent(merge_seconds=NEVER)

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            await call.say("one")
            await call.locate("a.py", 3)
            await call.update(raw_output={"found": 1}, title="Looked")

    async with User(agent, version) as user:
        await user.prompt(await user.new_session(), "x")
        _, begun, end = updates(user)
        assert (begun["status"], "content" in begun) == ("in_progress", False)
        assert (end["status"], end["title"], shown(end), end["rawOutput"]) == (
            "completed", "Looked", ["one"], {"found": 1}
        )  # fmt: skip
        assert [place["line"] for place in end["locations"]] == [3]


async def test_what_was_told_in_between_keeps_its_place(version: Any) -> None:
    agent = plain_agent(merge_seconds=NEVER)

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            await call.say("one")
            await turn.say("between")
            await call.say("two")

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        told = [frame["params"]["update"] for frame in user.sent() if frame.get("method") == "session/update"]
        kinds = [each.get("status") or each["sessionUpdate"].partition("_")[0] for each in told if "content" in each]
        assert [kind for kind in kinds if kind != "user"] == ["tool", "agent", "completed"]
        assert shown(last(user, "completed")) == ["one", "two"]
        (call,) = user.transcripts[session].tool_calls.values()
        assert len(call.content) == 2


async def test_content_that_was_taken_away_is_taken_away_at_the_end(version: Any, agent: Agent) -> None:
    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", content="a draft") as call:
            await call.replace()

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        (call,) = user.transcripts[session].tool_calls.values()
        assert not call.content


@pytest.mark.parametrize("how", ["raised", "failed", "cancelled", "left open", "told"])
async def test_it_is_whole_however_it_ends(version: Any, agent: Agent, how: str) -> None:
    """FN-114: also when it is the turn's end that ends the call."""

    waiting = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> None:
        opened = turn.tool_call("Look")
        if how in ("left open", "told"):
            await opened.__aenter__()
            await opened.say("one")
            if how == "told":
                await turn.send(ToolCallPatch(id=opened.id, status="completed"))
            return
        async with opened as call:
            await call.say("one")
            if how == "raised":
                raise ValueError("on purpose")
            if how == "failed":
                await call.fail()
            if how == "cancelled":
                waiting.set()
                await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        if how == "cancelled":
            await waiting.wait()
            await user.cancel(session)
        if how == "raised" and version != 2:
            with pytest.raises(RequestFailed):
                await reply
        else:
            await reply
        cancelled = "cancelled" if version == 2 else "failed"
        status = {"cancelled": cancelled, "left open": "completed", "told": "completed"}.get(how, "failed")
        assert shown(last(user, status)) == ["one"]


async def test_it_is_whole_in_the_background(version: Any, agent: Agent) -> None:
    """FN-114: when a call outlives its turn."""
    done = asyncio.Event()

    async def index(call: AgentToolCall) -> None:
        await call.say("begun")
        await done.wait()
        await call.say("found")
        await call.update(raw_output={"files": 3})

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.in_background(turn.tool_call("Index", kind="search"), index)

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        done.set()
        await user.until("call-1 completed [begun] [found]")
        end = last(user, "completed")
        assert shown(end) == ["begun", "found"]
        assert end["rawOutput"] == {"files": 3}


async def test_it_is_whole_for_a_plain_function(version: Any) -> None:
    agent = Agent("tester")

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        with turn.tool_call("Look") as call:
            call.say("one")
            call.update(raw_output={"found": 1})
        with turn.tool_call("Ended") as call:
            call.end("failed", raw_output={"why": "so"})

    async with User(agent, version) as user:
        await user.prompt(await user.new_session(), "x")
        ends = [each for each in updates(user) if each.get("status") in ("completed", "failed")]
        assert [(each["status"], each["rawOutput"]) for each in ends] == [
            ("completed", {"found": 1}),
            ("failed", {"why": "so"}),
        ]
        assert shown(ends[0]) == ["one"]


async def test_a_raw_output_that_is_no_json_ends_nothing(agent: Agent) -> None:
    refused: list[ValueError] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            try:
                call.end("completed", raw_output=float("nan"))
            except ValueError as error:
                refused.append(error)
            assert call.status == "pending"

    async with User(agent, 2) as user:
        await user.prompt(await user.new_session(), "x")
        assert refused
        last(user, "completed")


def plans(user: User) -> list[list[str]]:
    """The statuses in each plan update."""
    told = [frame["params"]["update"] for frame in user.sent() if frame.get("method") == "session/update"]
    entries = [each.get("entries") or each["plan"]["entries"] for each in told if "plan" in each["sessionUpdate"]]
    return [[entry["status"] for entry in each] for each in entries]


async def test_a_plan_is_told_once_for_each_change_of_it(version: Any, agent: Agent) -> None:
    @agent.prompt
    async def work(turn: Turn) -> None:
        for status in ("pending", "pending", "in_progress", "in_progress", "pending"):
            await turn.plan(["Look", PlanEntry(content="Do it", status=status)])

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        told = [["pending", "pending"], ["pending", "in_progress"], ["pending", "pending"]]
        assert plans(user) == told
        await user.prompt(session, "again")  # another turn shows its plan, even if it is the same
        assert plans(user) == told * 2


@pytest.mark.parametrize("how", ["end_turn", "refusal", "max_tokens", "cancelled", "failed"])
async def test_a_turn_that_breaks_off_leaves_nothing_of_its_plan_in_progress(
    version: Any, agent: Agent, how: str
) -> None:
    waiting = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> str | None:
        await turn.plan([PlanEntry("Look", status="completed"), PlanEntry("Do it", status="in_progress"), "Tell"])
        if how == "failed":
            raise ValueError("on purpose")
        if how == "cancelled":
            waiting.set()
            await asyncio.Event().wait()
        return how

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        if how == "cancelled":
            await waiting.wait()
            await user.cancel(session)
        if how == "failed" and version != 2:
            with pytest.raises(RequestFailed):
                await reply
        else:
            await reply
        paused = [] if how == "end_turn" else [["completed", "pending", "pending"]]
        assert plans(user) == [["completed", "in_progress", "pending"], *paused]
