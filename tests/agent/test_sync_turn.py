from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from accord.agent import SyncToolCall, SyncTurn
from accord.errors import MethodNotFound
from accord.session.capabilities import ClientCapabilities
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from tests.agent.user import User, plain_agent


async def test_a_plain_function_can_do_all_that_a_turn_can(version, tmp_path):
    agent = plain_agent()
    agent.option("mode", choices=["ask", "code"])

    @agent.prompt
    def work(turn: SyncTurn) -> str:
        turn.think("hm")
        turn.plan(["Work"])
        turn.files.write("a.txt", turn.text)
        with turn.tool_call("Look", kind="read", locations=["a.txt"]) as call:
            assert turn.allowed(call)
            call.say(turn.files.read("a.txt"))
            call.diff("a.txt", "old", "new")
            ran = turn.run(sys.executable, "-c", "print(1)", call=call)
            call.update(raw_output={"code": ran.code})
        assert turn.ask("Name?", {"name": {"type": "string"}}) == {"name": "Ada"}
        turn.usage(1, 2)
        turn.set_title("Work")
        turn.set_mode("code")
        turn.say(f"{turn.options['mode']}, {turn.session.transcript.info.title}")
        return "max_tokens"

    capabilities = ClientCapabilities(form_elicitation=True)
    async with User(agent, version, capabilities=capabilities) as user:
        user.answers[ElicitationRequest] = lambda asked: ElicitationAnswer(action="accept", content={"name": "Ada"})
        session = await user.new_session(str(tmp_path))
        assert await user.prompt(session, "text") == "max_tokens"
        assert user.said(session) == "code, Work"
        (call,) = user.transcripts[session].tool_calls.values()
        assert (call.status, call.raw_output) == ("completed", {"code": 0})


async def test_a_plain_function_can_ask_for_the_clients_own_methods(version):
    agent = plain_agent()

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        turn.client.notify("_acme/hint", {"a": 1})
        try:
            turn.client.request("_acme/pick", {"from": [1]}, deadline=10)
        except MethodNotFound as error:
            turn.say(
                f"{turn.client.info.name if turn.client.info else ''}: no {error.method}; {turn.meta}, {turn.trace}"
            )

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert user.said(session) == "accord-tests: no _acme/pick; {}, {}"
        assert any(frame.get("method") == "_acme/hint" for frame in user.sent())


async def test_a_plain_function_can_go_on_in_the_background(version):
    agent = plain_agent()
    go = threading.Event()

    def index(call: SyncToolCall) -> None:
        call.say("begun")
        go.wait(30)
        call.say("found")

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        turn.in_background(turn.tool_call("Index"), index)

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        await user.until("call-1 in_progress [begun]")
        go.set()
        await user.until("call-1 completed [begun] [found]")


@pytest.mark.parametrize("place", ["in a call", "between calls"])
async def test_a_cancel_reaches_a_thread(version, place):
    agent = plain_agent()
    waits, ended = threading.Event(), threading.Event()

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        try:
            with turn.tool_call("Wait"):
                turn.say("waiting")
                if place == "in a call":
                    turn.allowed("May I?")
                else:
                    while not turn.is_cancelled:
                        waits.wait(0.001)
                    turn.say("too late")
        finally:
            ended.set()

    async with User(agent, version, None) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("asked session/request_permission" if place == "in a call" else "agent: waiting")
        await user.cancel(session)
        assert await reply == "cancelled"
        assert ended.is_set()
        assert user.said(session) == "waiting"
        assert all(call.finished for call in user.transcripts[session].tool_calls.values())


async def test_a_thread_that_goes_on_is_left_behind(version):
    agent = plain_agent(cancel_grace=0.01)
    release = threading.Event()

    @agent.prompt
    def work(turn: SyncTurn) -> None:
        turn.say("waiting")
        release.wait(30)

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: waiting")
        await user.cancel(session)
        assert await reply == "cancelled"
        release.set()


async def test_what_a_thread_raises_is_a_clean_failure(version, caplog):
    agent = plain_agent()

    @agent.prompt
    def work(turn: Any) -> None:
        with turn.tool_call("Fail"):
            raise ValueError("details")

    async with User(agent, version) as user:
        session = await user.new_session()
        outcome = user.start(user.prompt(session, "x"))
        if version == 2:
            assert await outcome == "error"
        else:
            with pytest.raises(Exception, match="Internal error"):
                await outcome
        assert "details" in caplog.text
        (call,) = user.transcripts[session].tool_calls.values()
        assert call.status == "failed"
