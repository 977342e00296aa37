"""Cancelling: what is told, what is answered, and what happens when it is not heeded."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from accord import Client, ConnectionClosed, DeadlineExceeded, ToolCallChanged
from accord.client.deadlines import Deadlines
from accord.client.target import Command
from accord.testing import ScriptedAgent
from tests.client.words import CWD
from tests.virtual_clock import run

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


def ask_permission(agent, version, call="c"):
    if version == 2:
        subject = {"type": "tool_call", "toolCall": {"toolCallId": call}}
        params = {"sessionId": "session-1", "title": "May I?", "subject": subject, "options": OPTIONS}
    else:
        params = {"sessionId": "session-1", "toolCall": {"toolCallId": call, "title": "May I?"}, "options": OPTIONS}
    return agent.ask("session/request_permission", params)


async def asks_for_ever(asked) -> Any:
    await asyncio.get_running_loop().create_future()


@pytest.mark.requirement(
    "CANCEL-01", "CANCEL-02", "CANCEL-03", "CANCEL-04", "CANCEL-11", "PERM-15", "PERM-18", "RPC-40"
)
async def test_a_cancel_answers_what_is_pending_and_marks_what_is_open(version):
    agent = ScriptedAgent(version)
    is_asked = asyncio.Event()

    async def person(asked) -> Any:
        is_asked.set()
        await asks_for_ever(asked)

    async with Client(agent, version=version, on_permission=person) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        question = ask_permission(agent, version)
        await is_asked.wait()
        await reply.cancel()
        assert session.transcript.tool_calls["c"].status == "cancelled"
        assert (await question).result["outcome"] == {"outcome": "cancelled"}
        told = await agent.seen("session/cancel")
        assert told.params == {"sessionId": "session-1"}
        assert not told.is_request
        positions = [message.get("method") or message["id"] for message in agent.received]
        assert positions.index("session/cancel") < positions.index(question.id)
        later = ask_permission(agent, version, "d")
        assert (await later).result["outcome"] == {"outcome": "cancelled"}
        agent.update("tool_call_update", toolCallId="c", status="failed")
        agent.finish(asked, "cancelled")
        assert (await reply).stop_reason == "cancelled"
        assert reply.cancel_requested
        assert session.transcript.tool_calls["c"].status == "failed"


@pytest.mark.requirement("AMB-38", "RPC-51")
async def test_the_reply_ends_with_what_the_agent_says_even_if_that_is_end_turn(version):
    """FN-93: a cancel answered with `end_turn` ends the reply; what we asked is kept beside it."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        await session.cancel()
        await agent.seen("session/cancel")
        agent.finish(asked, "end_turn")
        assert (await reply).stop_reason == "end_turn"
        assert reply.cancel_requested


async def test_a_refused_permission_that_ends_the_turn_as_cancelled_is_shown_so(version):
    """FN-93: a rejected permission that ends the turn as `cancelled`: the reply ends; we did not ask for it."""
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        answer = await ask_permission(agent, version)
        assert answer.result["outcome"] == {"outcome": "selected", "optionId": "n"}
        agent.finish(asked, "cancelled")
        assert (await reply).stop_reason == "cancelled"
        assert not reply.cancel_requested


@pytest.mark.requirement("AMB-36", "RPC-51")
async def test_one_cancel_ends_the_running_turn_and_all_that_is_held(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        running, held = session.prompt("1"), session.prompt("2")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        await session.cancel()
        after = session.prompt("3")
        assert (await held).stop_reason == "cancelled"
        agent.finish(asked, "cancelled")
        assert (await running).stop_reason == "cancelled"
        asked = await agent.seen("session/prompt", 2)
        assert asked.params["prompt"][0]["text"] == "3"
        agent.begin(asked)
        agent.finish(asked, "end_turn")
        assert (await after).stop_reason == "end_turn"


@pytest.mark.requirement("AMB-38")
async def test_a_cancel_while_nothing_runs_is_harmless(version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("Hi"))
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        await session.cancel()
        assert (await session.prompt("go")).text == "Hi"
        await session.cancel()
        reply = await session.prompt("again")
        assert reply.text == "Hi"
        assert (reply.stop_reason, reply.cancel_requested) == ("end_turn", False)


async def test_a_held_prompt_can_be_dropped_alone(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        running, held = session.prompt("1"), session.prompt("2")
        await held.cancel()
        assert (held.is_over, held.stop_reason) == (True, "cancelled")
        asked = await agent.seen("session/prompt")
        agent.begin(asked)
        agent.finish(asked, "end_turn")
        assert (await running).stop_reason == "end_turn"
        assert agent.calls("session/cancel") == []


async def test_a_prompt_that_was_cancelled_before_the_agent_began_is_no_failure(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        await reply.cancel()
        asked.fail(-32800, "cancelled")
        assert (await reply).stop_reason == "cancelled"


async def test_questions_of_background_work_survive_a_cancel():
    agent = ScriptedAgent(2)
    async with Client(agent, version=2, on_permission=asks_for_ever) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        asked = await agent.seen("session/prompt")
        asked.answer({"messageId": "u"})
        background = [{"type": "tool_call", "toolCallId": "b"}]
        agent.update("tool_call_update", toolCallId="b", title="Watch", status="in_progress")
        agent.update("state_update", state="running", background=background)
        behind, front = ask_permission(agent, 2, "b"), ask_permission(agent, 2, "c")
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.id == "c":
                break
        await session.cancel()
        await front
        agent.update("state_update", state="idle", stopReason="cancelled", background=background)
        assert (await reply).stop_reason == "cancelled"
        assert session.transcript.tool_calls["b"].status == "in_progress"
        assert [message for message in agent.received if message.get("id") == behind.id] == []


async def test_a_question_that_the_agent_withdraws_is_answered_with_cancelled(version):
    agent = ScriptedAgent(version)
    waiting = asyncio.Event()

    async def policy(asked) -> Any:
        waiting.set()
        await asks_for_ever(asked)

    async with Client(agent, version=version, on_permission=policy) as client:
        await client.new_session(CWD)
        question = ask_permission(agent, version)
        await waiting.wait()
        agent.notify("$/cancel_request", {"requestId": question.id})
        assert (await question).result["outcome"] == {"outcome": "cancelled"}


@pytest.mark.parametrize("number", [1, 2])
def test_a_turn_that_goes_on_after_a_cancel_is_ended_with_its_connection(number):
    """FN-17: cancel, grace, kill."""

    async def main():
        agent = ScriptedAgent(number)
        async with Client(agent, version=number, deadlines=Deadlines(cancel_grace=7)) as client:
            loop = asyncio.get_running_loop()
            session = await client.new_session(CWD)
            reply = session.prompt("go")
            await agent.seen("session/prompt")
            began = loop.time()
            await session.cancel()
            await session.cancel()
            with pytest.raises(DeadlineExceeded, match="session/cancel"):
                await reply
            assert loop.time() - began == pytest.approx(7)
            await client.wait_closed()
            assert agent.closed is not None
            with pytest.raises(ConnectionClosed):
                await client.new_session(CWD)

    run(main())


def test_a_turn_has_a_deadline_if_it_is_given_one():
    """FN-17: an agent that never answers is cancelled first."""

    async def main():
        agent = ScriptedAgent(1)
        agent.on("session/cancel", lambda told: agent.calls("session/prompt")[0].answer({"stopReason": "cancelled"}))
        async with Client(agent, version=1, deadlines=Deadlines(turn=60)) as client:
            session = await client.new_session(CWD)
            reply = session.prompt("go")
            with pytest.raises(DeadlineExceeded, match="session/prompt timed out after 60 s"):
                await reply
            assert (reply.stop_reason, reply.cancel_requested) == ("cancelled", True)
            agent.on("session/prompt", {"stopReason": "end_turn"})
            assert (await session.prompt("still there?")).stop_reason == "end_turn"

    run(main())


def test_silence_ends_a_turn_but_not_while_somebody_here_is_asked():
    async def main():
        agent = ScriptedAgent(1, patience=2000)
        loop = asyncio.get_running_loop()
        agent.on("session/cancel", lambda told: agent.calls("session/prompt")[0].answer({"stopReason": "cancelled"}))

        async def slow(asked):
            await asyncio.sleep(1000)
            raise RuntimeError("nobody there")

        async with Client(agent, version=1, deadlines=Deadlines(silence=10), on_permission=slow) as client:
            session = await client.new_session(CWD)
            reply = session.prompt("go")
            await agent.seen("session/prompt")
            for _ in range(5):
                await asyncio.sleep(9)
                agent.say("x")
            answer = await ask_permission(agent, 1)
            assert answer.result["outcome"]["optionId"] == "n"
            answered = loop.time()
            with pytest.raises(DeadlineExceeded):
                await reply
            assert 0 < loop.time() - answered <= 20

    run(main())


async def test_an_agent_that_ignores_everything_is_killed_with_its_children(tmp_path):
    """FN-100: the agent ignores end-of-input and leaves children: the kill ladder ends the whole tree."""
    program = f"""
import json, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pids")!r}, "w").write(str(child.pid))
for line in sys.stdin:
    message = json.loads(line)
    results = {{"initialize": {{"protocolVersion": 1, "agentCapabilities": {{}}}}, "session/new": {{"sessionId": "s"}}}}
    if message["method"] in results:
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}}), flush=True)
time.sleep(600)
"""
    command = Command([sys.executable, "-c", program], close_grace=0.1, terminate_grace=0.1)
    async with Client(command, deadlines=Deadlines(cancel_grace=0.1)) as client:
        session = await client.new_session(CWD)
        reply = session.prompt("go")
        await reply.cancel()
        with pytest.raises(DeadlineExceeded):
            await reply
        await client.wait_closed()
    assert not is_alive(int((tmp_path / "pids").read_text()))


def is_alive(pid):
    import os

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
