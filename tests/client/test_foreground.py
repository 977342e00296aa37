"""The end of a turn: what it opened and nobody will finish is closed, and what is not its own stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from accord import Client, ConnectionClosed, PlanChanged, RequestFailed, ToolCallChanged, permissions
from accord.client.session import SessionUpdate
from accord.testing import ScriptedAgent
from tests.client.test_cancel import ask_permission
from tests.client.words import CWD

STEP = {"content": "Look", "priority": "high", "status": "in_progress"}


def plan(agent, *entries):
    if agent.version == 2:
        agent.update("plan_update", plan={"type": "items", "planId": "p", "entries": list(entries)})
    else:
        agent.update("plan", entries=list(entries))


def open_call(agent, id="c", status="in_progress"):
    kind = "tool_call_update" if agent.version == 2 else "tool_call"
    agent.update(kind, toolCallId=id, title="Look around", kind="read", status=status)


async def arrived(agent, client):
    """All that the agent has said so far is here."""
    agent.on("session/list", {"sessions": []})
    assert [each async for each in client.list_sessions()] == []


async def read_into(told, reply):
    async for change in reply:
        told.append(change)  # what came before it failed is wanted, too


async def prompted(agent, session, count=1):
    reply = session.prompt("go")
    asked = await agent.seen("session/prompt", count)
    agent.begin(asked)
    return reply, asked


@pytest.mark.parametrize("status", ["pending", "in_progress"])
@pytest.mark.parametrize("reason", ["end_turn", "refusal", "max_tokens"])
async def test_a_turn_that_ends_closes_the_calls_that_it_opened_and_tells_so(version, reason, status):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent, status=status)
        agent.finish(asked, reason)
        told = [change.call async for change in reply if isinstance(change, ToolCallChanged)]
        call = session.transcript.tool_calls["c"]
        assert (call.ended_without_result, call.finished, call.status) == (True, True, status)
        assert [each.ended_without_result for each in told] == [False, True]


async def test_a_call_that_has_a_result_is_left_alone(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent, status="completed")
        agent.finish(asked)
        told = [change async for change in reply if isinstance(change, ToolCallChanged)]
        assert len(told) == 1
        assert not session.transcript.tool_calls["c"].ended_without_result


@pytest.mark.parametrize("update", [{"status": "completed"}, {"status": "in_progress"}, {"title": "Looked"}])
async def test_a_later_update_of_such_a_call_applies_and_takes_the_mark_away(version, update):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        agent.finish(asked)
        await reply
        agent.update("tool_call_update", toolCallId="c", **update)
        await arrived(agent, client)
        call = session.transcript.tool_calls["c"]
        assert not call.ended_without_result
        assert (call.status, call.title) == (update.get("status", "in_progress"), update.get("title", "Look around"))


@pytest.mark.parametrize("update", [{"status": "in_progress"}, {"title": "Looked"}], ids=str)
async def test_a_call_that_a_later_update_opened_again_is_closed_when_the_next_turn_ends(version, update):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        agent.finish(asked)
        await reply
        for count in (2, 3):  # as often as it is opened again
            agent.update("tool_call_update", toolCallId="c", **update)
            await arrived(agent, client)
            assert not session.transcript.tool_calls["c"].finished
            reply, asked = await prompted(agent, session, count)
            assert not session.transcript.tool_calls["c"].finished
            agent.finish(asked)
            await reply
            assert session.transcript.tool_calls["c"].ended_without_result
        agent.update("tool_call_update", toolCallId="c", status="completed")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session, 4)
        agent.finish(asked)
        await reply
        call = session.transcript.tool_calls["c"]
        assert (call.status, call.ended_without_result) == ("completed", False)


async def test_a_call_that_was_left_and_is_now_in_the_background_stays_open():
    agent, heard = ScriptedAgent(2), []
    async with Client(agent, version=2, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        agent.finish(asked)
        await reply
        agent.update("tool_call_update", toolCallId="c", status="in_progress")
        await arrived(agent, client)
        reply, _ = await prompted(agent, session, 2)
        background = [{"type": "tool_call", "toolCallId": "c"}]
        agent.update("state_update", state="idle", stopReason="end_turn", background=background)
        await reply
        assert not session.transcript.tool_calls["c"].finished


@pytest.mark.requirement("CANCEL-03")
async def test_a_cancel_does_not_mark_a_call_that_a_later_update_opened_again(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        agent.finish(asked)
        await reply
        agent.update("tool_call_update", toolCallId="c", status="in_progress")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session, 2)
        await session.cancel()
        assert session.transcript.tool_calls["c"].status == "in_progress"
        agent.finish(asked, "cancelled")
        await reply
        assert session.transcript.tool_calls["c"].ended_without_result


async def test_calls_that_were_open_before_a_turn_are_not_its_own(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        open_call(agent, "before")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session)
        agent.update("tool_call_update", toolCallId="before", title="Still at it")
        open_call(agent, "own")
        agent.finish(asked)
        await reply
        calls = session.transcript.tool_calls
        assert (calls["before"].finished, calls["own"].finished) == (False, True)


@pytest.mark.requirement("CANCEL-03")
async def test_a_cancel_marks_only_the_calls_of_the_turn_that_it_cancels(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        open_call(agent, "before")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session)
        open_call(agent, "own")
        async for change in reply:
            if isinstance(change, ToolCallChanged):
                break
        await session.cancel()
        calls = session.transcript.tool_calls
        assert (calls["before"].status, calls["own"].status) == ("in_progress", "cancelled")
        agent.finish(asked, "cancelled")
        await reply
        assert not calls["before"].finished
        assert not calls["own"].ended_without_result


@pytest.mark.requirement("CANCEL-03")
@pytest.mark.parametrize("late", [{}, {"status": "in_progress"}, {"title": "Still looking"}], ids=str)
async def test_a_cancel_does_not_mark_calls_that_earlier_turns_left_open(version, late):
    """Some agents never finish a call; what they say of it later does not make it one of the running turn."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent, "earlier")
        agent.finish(asked)
        await reply
        reply, asked = await prompted(agent, session, 2)
        if late:
            agent.update("tool_call_update", toolCallId="earlier", **late)
        open_call(agent, "own")
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.id == "own":
                break
        await session.cancel()
        calls = session.transcript.tool_calls
        assert (calls["earlier"].status, calls["own"].status) == ("in_progress", "cancelled")
        agent.finish(asked, "cancelled")
        await reply
        assert (calls["earlier"].status, calls["earlier"].ended_without_result) == ("in_progress", True)


@pytest.mark.requirement("CANCEL-03")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_cancel_marks_a_call_that_was_left_open_and_begins_again(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        agent.finish(asked)
        await reply
        reply, asked = await prompted(agent, session, 2)
        open_call(agent)
        async for change in reply:
            if isinstance(change, ToolCallChanged):
                break
        await session.cancel()
        assert session.transcript.tool_calls["c"].status == "cancelled"
        agent.finish(asked, "cancelled")
        await reply


@pytest.mark.requirement("CANCEL-03")
async def test_a_cancel_marks_the_calls_of_work_that_somebody_else_asked_for():
    agent, heard = ScriptedAgent(2), []

    def resume(asked):
        agent.update("user_message", messageId="u1", content=[{"type": "text", "text": "look"}])
        open_call(agent, "earlier")
        agent.update("user_message", messageId="u2", content=[{"type": "text", "text": "again"}])
        open_call(agent, "theirs")
        agent.update("state_update", state="running")
        asked.answer({})

    agent.on("session/resume", resume)
    async with Client(agent, version=2, on_update=heard.append) as client:
        session = await client.load_session("old", CWD)
        calls = session.transcript.tool_calls
        assert (calls["earlier"].ended_without_result, calls["theirs"].finished) == (True, False)
        await session.cancel()
        assert (calls["earlier"].status, calls["theirs"].status) == ("in_progress", "cancelled")


async def test_a_call_that_goes_on_after_a_cancel_ends_with_the_turn(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent)
        await session.cancel()
        await agent.seen("session/cancel")
        agent.update("tool_call_update", toolCallId="c", status="in_progress")
        agent.finish(asked, "cancelled")
        await reply
        assert session.transcript.tool_calls["c"].ended_without_result


async def test_a_call_that_is_begun_once_more_belongs_to_the_turn_that_begins_it(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent, status="completed")
        agent.finish(asked)
        await reply
        reply, asked = await prompted(agent, session, 2)
        open_call(agent)
        agent.finish(asked)
        await reply
        assert session.transcript.tool_calls["c"].ended_without_result


async def test_work_in_the_background_goes_on_when_the_turn_ends():
    agent = ScriptedAgent(2)
    async with Client(agent, version=2) as client:
        session = await client.new_session(CWD)
        reply, _ = await prompted(agent, session)
        open_call(agent, "beside")
        open_call(agent, "own")
        background = [{"type": "tool_call", "toolCallId": "beside"}]
        agent.update("state_update", state="idle", stopReason="end_turn", background=background)
        await reply
        calls = session.transcript.tool_calls
        assert (calls["beside"].finished, calls["own"].ended_without_result) == (False, True)


async def test_work_that_nobody_here_asked_for_closes_its_calls_when_it_rests():
    agent, heard = ScriptedAgent(2), []
    async with Client(agent, version=2, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        agent.update("state_update", state="running")
        open_call(agent, "theirs")
        agent.update("state_update", state="idle", stopReason="end_turn")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session)
        assert session.transcript.tool_calls["theirs"].ended_without_result
        agent.finish(asked)
        await reply
        marks = [each.update for each in heard if isinstance(each.update, ToolCallChanged)]
        assert [mark.call.ended_without_result for mark in marks] == [False, True]


async def test_the_end_of_anothers_turn_closes_its_calls_while_our_prompt_waits():
    agent = ScriptedAgent(2)
    async with Client(agent, version=2) as client:
        session = await client.new_session(CWD)
        agent.update("state_update", state="running")
        open_call(agent, "theirs")
        await arrived(agent, client)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.update("state_update", state="idle", stopReason="end_turn")
        agent.begin(asked)
        open_call(agent, "ours")
        calls = session.transcript.tool_calls
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.id == "ours":
                break
        assert (calls["theirs"].ended_without_result, calls["ours"].finished) == (True, False)
        agent.finish(asked)
        await reply
        assert session.transcript.tool_calls["ours"].ended_without_result


async def test_a_rejected_call_is_cancelled_and_those_beside_it_have_no_result(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_permission=permissions.deny) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        open_call(agent, "beside")
        await ask_permission(agent, version, "asked")
        agent.finish(asked)
        await reply
        calls = session.transcript.tool_calls
        assert (calls["asked"].status, calls["asked"].ended_without_result) == ("cancelled", False)
        assert calls["beside"].ended_without_result


async def test_a_failed_turn_closes_its_calls(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        open_call(agent)
        asked.fail(-32603, "out of luck")
        with pytest.raises(RequestFailed):
            await reply
        assert session.transcript.tool_calls["c"].ended_without_result


async def test_an_agent_that_dies_leaves_nothing_open_and_the_reply_tells_it(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        open_call(agent, "before")
        await arrived(agent, client)
        reply, _ = await prompted(agent, session)
        plan(agent, STEP)
        open_call(agent, "own")
        agent.die()
        told: list[Any] = []
        with pytest.raises(ConnectionClosed):
            await read_into(told, reply)
        calls = session.transcript.tool_calls
        await client.aclose()
        assert [call.ended_without_result for call in calls.values()] == [True, True]
        assert all(each.ended_without_result for each in session.transcript.plans.values())
        marks = [change.call.id for change in told if isinstance(change, ToolCallChanged) and change.call.finished]
        marks += [each.update.call.id for each in heard if _is_mark(each)]
        assert sorted(marks) == ["before", "own"]
        assert "own" in [change.call.id for change in told if isinstance(change, ToolCallChanged)]


def _is_mark(update: SessionUpdate) -> bool:
    return isinstance(update.update, ToolCallChanged) and update.update.call.ended_without_result


async def test_an_agent_that_dies_between_turns_leaves_nothing_open(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        open_call(agent)
        agent.die()
        await client.wait_closed()
        await client.aclose()
        assert session.transcript.tool_calls["c"].ended_without_result
        assert [_is_mark(each) for each in heard if isinstance(each.update, ToolCallChanged)] == [False, True]


@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_history_that_ends_with_an_open_call_is_closed_once_it_is_told(version):
    agent, heard = ScriptedAgent(version), []

    def load(asked):
        open_call(agent)
        agent.say("That was it.")
        asked.answer({})

    agent.on("session/load", load)
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.load_session("old", CWD)
        assert session.transcript.tool_calls["c"].ended_without_result
        await client.aclose()
        assert all(each.replayed for each in heard if isinstance(each.update, ToolCallChanged))


async def test_a_session_that_still_works_when_it_is_taken_up_keeps_its_calls_until_it_rests():
    agent, heard = ScriptedAgent(2), []

    def resume(asked):
        open_call(agent)
        agent.update("state_update", state="running")
        asked.answer({})

    agent.on("session/resume", resume)
    async with Client(agent, version=2, on_update=heard.append) as client:
        session = await client.load_session("old", CWD)
        assert not session.transcript.tool_calls["c"].finished
        agent.update("state_update", state="idle", stopReason="end_turn")
        await arrived(agent, client)
        reply, asked = await prompted(agent, session)
        agent.finish(asked)
        await reply
        assert session.transcript.tool_calls["c"].ended_without_result


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "cancelled"])
async def test_a_plan_that_a_broken_off_turn_leaves_running_is_marked(version, reason):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        agent.finish(asked, reason)
        told = [change.plan async for change in reply if isinstance(change, PlanChanged)]
        (kept,) = session.transcript.plans.values()
        assert (kept.ended_without_result, kept.entries[0].status) == (True, "in_progress")
        assert [each.ended_without_result for each in told] == [False, True]
        reply, asked = await prompted(agent, session, 2)
        plan(agent, STEP)
        agent.finish(asked)
        await reply
        (kept,) = session.transcript.plans.values()
        assert not kept.ended_without_result


async def test_a_plan_is_marked_when_something_was_rejected_or_the_turn_failed(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version, on_permission=permissions.deny) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        await ask_permission(agent, version)
        agent.finish(asked)
        await reply
        (kept,) = session.transcript.plans.values()
        assert kept.ended_without_result
        reply = session.prompt("again")
        asked = await agent.seen("session/prompt", 2)
        plan(agent, STEP)
        asked.fail(-32603, "out of luck")
        with pytest.raises(RequestFailed):
            await reply
        (kept,) = session.transcript.plans.values()
        assert kept.ended_without_result


async def test_a_plan_that_goes_on_in_the_next_turn_or_is_done_is_left_alone(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        agent.finish(asked)
        await reply
        (kept,) = session.transcript.plans.values()
        assert not kept.ended_without_result
        reply, asked = await prompted(agent, session, 2)
        plan(agent, {**STEP, "status": "completed"})
        agent.finish(asked, "refusal")
        await reply
        (kept,) = session.transcript.plans.values()
        assert not kept.ended_without_result


async def test_a_plan_that_a_later_update_set_running_again_is_marked_when_the_next_turn_ends(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        agent.finish(asked, "refusal")
        await reply
        plan(agent, STEP)
        await arrived(agent, client)
        (kept,) = session.transcript.plans.values()
        assert not kept.ended_without_result
        reply, asked = await prompted(agent, session, 2)
        agent.finish(asked)
        await reply
        (kept,) = session.transcript.plans.values()
        assert kept.ended_without_result
        reply, asked = await prompted(agent, session, 3)
        plan(agent, STEP)  # it is this turn's own now, which ends as it should
        agent.finish(asked)
        await reply
        (kept,) = session.transcript.plans.values()
        assert not kept.ended_without_result


async def test_an_agent_that_dies_between_turns_leaves_no_plan_running(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        agent.finish(asked)  # as it should, so that the plan goes on
        await reply
        agent.die()
        await client.wait_closed()
        await client.aclose()
        (kept,) = session.transcript.plans.values()
        assert kept.ended_without_result
        assert [each.update.plan.ended_without_result for each in heard if isinstance(each.update, PlanChanged)] == [
            True
        ]


async def test_a_plan_between_two_turns_is_not_broken_off_by_a_client_that_leaves(version):
    agent, heard = ScriptedAgent(version), []
    async with Client(agent, version=version, on_update=heard.append) as client:
        session = await client.new_session(CWD)
        reply, asked = await prompted(agent, session)
        plan(agent, STEP)
        agent.finish(asked)
        await reply
    (kept,) = session.transcript.plans.values()
    assert not kept.ended_without_result
    assert not [
        each for each in heard if isinstance(each.update, PlanChanged) and each.update.plan.ended_without_result
    ]


async def test_a_plan_of_a_running_turn_is_broken_off_by_a_client_that_leaves(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply, _ = await prompted(agent, session)
        plan(agent, STEP)
        async for change in reply:
            if isinstance(change, PlanChanged):
                break
    (kept,) = session.transcript.plans.values()
    assert kept.ended_without_result
