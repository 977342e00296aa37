from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from accord.agent import Turn
from accord.errors import InternalError, InvalidRequest, RequestCancelled, RequestFailed
from accord.session.content import Text
from accord.session.entities import PlanEntry
from accord.session.requests import Cancel, PermissionAnswer, PermissionRequest, Prompt
from tests.agent.user import User, plain_agent
from tests.virtual_clock import run


@pytest.mark.requirement("CHECK-01", "CHECK-02", "CHECK-06", "PROMPT-08", "PROMPT-10", "PROMPT-11", "SESS-20")
async def test_a_prompt_is_answered_with_what_the_handler_says(version):
    agent = plain_agent()

    @agent.prompt
    async def greet(turn: Turn) -> None:
        await turn.say(f"You said {turn.text}")
        await turn.say(", in ")
        await turn.say(str(turn.cwd))

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "hello") == "end_turn"
        assert user.said(session) == "You said hello, in /work/project"


@pytest.mark.requirement(
    "PROMPT-20", "PROMPT-22", "PROMPT-23", "PROMPT-24", "PROMPT-28", "CHECK-22", "PROMPT-21", "PROMPT-11", "PROMPT-12"
)
@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal"])
@pytest.mark.parametrize("way", ["return", "stop"])
async def test_a_turn_ends_with_the_reason_its_handler_gives(version, reason, way):
    agent = plain_agent()

    @agent.prompt
    async def end(turn: Turn) -> str | None:
        async with turn.tool_call("Think", kind="think"):
            if way == "stop":
                turn.stop(reason)
        return reason

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "go") == reason
        assert [call.status for call in user.transcripts[session].tool_calls.values()] == ["completed"]


@pytest.mark.parametrize(("helper", "reason"), [("request", "max_turn_requests"), ("tokens", "max_tokens")])
async def test_counting_past_a_limit_ends_the_turn(version, helper, reason):
    agent = plain_agent(max_requests=3, max_tokens=30)

    @agent.prompt
    async def work(turn: Turn) -> None:
        for _ in range(10):
            turn.count_request() if helper == "request" else turn.count_tokens(10)
            await turn.say(".")

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "go") == reason
        assert user.said(session) == "..."


@pytest.mark.requirement("PLAN-02", "PLAN-03", "PLAN-07", "PLAN-08", "CHECK-30")
async def test_a_plan_is_shown_whole_each_time(version):
    agent = plain_agent()

    @agent.prompt
    async def plan(turn: Turn) -> None:
        await turn.plan(["Read", "Write"])
        await turn.plan([PlanEntry(content="Read", status="completed"), "Write", "Test"])
        await turn.think("hm")
        await turn.usage(10, 100, 0.5)
        await turn.set_title("A plan")

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "go")
        transcript = user.transcripts[session]
        (plan_shown,) = transcript.plans.values()
        assert [entry.status for entry in plan_shown.entries] == ["completed", "pending", "pending"]
        assert transcript.usage is not None
        assert transcript.usage.used == 10
        assert transcript.info.title == "A plan"
        assert [message.role for message in transcript.messages.values()] == ["user", "thought"]


@pytest.mark.requirement("CANCEL-05", "CANCEL-06", "CANCEL-13", "CHECK-06", "CHECK-23", "PROMPT-25")
async def test_a_cancel_ends_the_turn_with_no_code_by_the_author(version):
    """FN-26: it works with no code by the author, and the session goes on."""
    agent = plain_agent()

    @agent.prompt
    async def hang(turn: Turn) -> None:
        await turn.say(turn.text)
        if turn.text == "hang":
            await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "hang"))
        await user.until("agent: hang")
        await user.cancel(session)
        assert await reply == "cancelled"
        assert await user.prompt(session, "again") == "end_turn"


async def test_one_cancel_ends_one_turn_of_one_session(version):
    """FN-20: the other session's turn goes on, and the cancelled session is not wedged."""
    agent = plain_agent()
    go_on = asyncio.Event()

    @agent.prompt
    async def wait(turn: Turn) -> None:
        await turn.say(f"waits in {turn.cwd.name}")
        await go_on.wait()

    async with User(agent, version) as user:
        one, two = await user.new_session("/one"), await user.new_session("/two")
        first, second = user.start(user.prompt(one, "x")), user.start(user.prompt(two, "x"))
        await user.until("agent: waits in one")
        await user.until("agent: waits in two")
        await user.cancel(one)
        assert await first == "cancelled"
        go_on.set()
        assert await second == "end_turn"
        assert await user.prompt(one, "again") == "end_turn"


@pytest.mark.requirement("AMB-38")
async def test_a_cancel_while_idle_does_nothing(version, caplog):
    """FN-21: the next turn is not touched."""
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say("done")

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.tell(Cancel(session_id=session))
        await user.tell(Cancel(session_id="nobody"))
        assert await user.prompt(session, "x") == "end_turn"
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.requirement("CANCEL-07", "CANCEL-12", "RPC-40", "RPC-51")
@pytest.mark.parametrize("manner", ["raises", "returns", "swallows", "stops"])
async def test_whatever_a_handler_makes_of_a_cancel_the_turn_ends_cancelled(version, manner):
    """FN-22, FN-23: exactly one stop reason, and it is `cancelled`; an exception caused by the cancel is no error."""
    agent = plain_agent(cancel_grace=0.01)

    @agent.prompt
    async def stubborn(turn: Turn) -> str | None:
        await turn.say("waiting")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if manner == "raises":
                raise RuntimeError("the model's connection broke") from None
            if manner == "stops":
                turn.stop("refusal")
            if manner == "swallows":
                await asyncio.Event().wait()
        return "end_turn"

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: waiting")
        await user.cancel(session)
        await user.cancel(session)
        assert await reply == "cancelled"
        ends = [frame for frame in user.sent() if b"stopReason" in repr(frame).encode()]
        assert len(ends) == 1


@pytest.mark.parametrize(
    ("options", "needs", "waits"),
    [({}, 1, 1), ({}, 1000, 2), ({"cancel_grace": 7}, 1000, 7)],
    ids=["ends in time", "does not", "does not, and has longer"],
)
def test_a_cancelled_turn_has_a_grace_to_end_in_and_no_more(version, options, needs, waits):
    """Two seconds, unless the author says otherwise."""
    agent = plain_agent(**options)
    ended: list[str] = []

    @agent.prompt
    async def stubborn(turn: Turn) -> None:
        await turn.say("waiting")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(needs)
            ended.append("by itself")

    async def main() -> None:
        async with User(agent, version) as user:
            session = await user.new_session()
            reply = user.start(user.prompt(session, "x"))
            await user.until("agent: waiting")
            began = asyncio.get_running_loop().time()
            await user.cancel(session)
            assert await reply == "cancelled"
            assert asyncio.get_running_loop().time() - began == pytest.approx(waits, abs=0.1)
            assert ended == (["by itself"] if needs == waits else [])

    run(main())


@pytest.mark.requirement("AMB-36")
async def test_a_second_prompt_waits_for_its_turn(version):
    """FN-24: held in order, never interleaved."""
    agent = plain_agent()

    @agent.prompt
    async def echo(turn: Turn) -> None:
        for piece in ("begin", "end"):
            await turn.say(f"{turn.text} {piece};")
            await asyncio.sleep(0)

    async with User(agent, version) as user:
        session = await user.new_session()
        work = [user.start(user.ask(Prompt(session_id=session, content=[Text(str(n))]))) for n in range(3)]
        await asyncio.gather(*work)
        await user.until("agent: 2 end;")
        assert user.said(session) == "0 begin;0 end;1 begin;1 end;2 begin;2 end;"


@pytest.mark.requirement("AMB-36")
async def test_a_busy_session_can_refuse(version):
    """FN-24: refused by policy, with a clear error."""
    agent = plain_agent(busy="refuse")

    @agent.prompt
    async def wait(turn: Turn) -> None:
        await turn.say("waiting")
        await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "one"))
        await user.until("agent: waiting")
        with pytest.raises(InvalidRequest, match="busy"):
            await user.ask(Prompt(session_id=session, content=[Text("two")]))
        await user.cancel(session)
        assert await first == "cancelled"


@pytest.mark.requirement("AMB-36")
async def test_a_running_turn_can_be_steered(version):
    agent = plain_agent(busy="steer")
    heard = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say(f"[{turn.text}]")
        await heard.wait()
        while (more := await turn.next_prompt()) is not None:
            await turn.say(f"<{more[0].text}>")  # type: ignore[union-attr]

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "one"))
        await user.until("agent: [one]")
        second = user.start(user.ask(Prompt(session_id=session, content=[Text("two")])))
        await asyncio.sleep(0.01)
        heard.set()
        assert await first == "end_turn"
        answer = await second
        assert user.said(session) == "[one]<two>"
        assert answer.stop_reason == (None if version == 2 else "end_turn")


async def test_a_slash_command_waits_for_a_turn_of_its_own(version):
    agent = plain_agent(busy="steer")
    heard = asyncio.Event()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.say(f"[{turn.text}]")
        await heard.wait()
        while (more := await turn.next_prompt()) is not None:
            await turn.say(f"<{more[0].text}>")  # type: ignore[union-attr]

    @agent.command("mode", "Switch")
    async def mode(turn: Turn) -> None:
        await turn.say(f"/{turn.arguments}")

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "one"))
        await user.until("agent: [one]")
        waiting = agent.sessions.find(session)._queue  # type: ignore[union-attr]
        asked = [Prompt(session_id=session, content=[Text(each)]) for each in ("/mode fast", "two")]
        others = [user.start(user.ask(each)) for each in asked]
        while len(waiting) < 2:  # noqa: ASYNC110  # nobody tells when a prompt has come
            await asyncio.sleep(0)
        heard.set()
        assert await first == "end_turn"
        await asyncio.gather(*others)
        await user.until("agent: [two]")
        assert user.said(session) == "[one]/fast[two]"


@pytest.mark.requirement("AMB-36")
async def test_one_cancel_ends_all_that_is_pending(version):
    """FN-70: the running turn and the queued prompt; one sent after the cancel is not affected."""
    agent = plain_agent()
    started: list[str] = []

    @agent.prompt
    async def hang(turn: Turn) -> None:
        started.append(turn.text)
        await turn.say(turn.text)
        if turn.text != "later":
            await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "first"))
        await user.until("agent: first")
        queued = user.start(user.ask(Prompt(session_id=session, content=[Text("queued")])))
        await asyncio.sleep(0)
        await user.cancel(session)
        later = user.start(user.ask(Prompt(session_id=session, content=[Text("later")])))
        assert await first == "cancelled"
        if version == 2:
            with pytest.raises(RequestCancelled):
                await queued
        else:
            assert (await queued).stop_reason == "cancelled"
        await later
        await user.until("agent: later")
        assert started == ["first", "later"]


async def test_a_cancelled_prompt_may_be_sent_again_with_more(version):
    """FN-81: harmless."""
    agent = plain_agent()

    @agent.prompt
    async def hang(turn: Turn) -> None:
        await turn.say(f"{len(turn.content)} blocks")
        if len(turn.content) == 1:
            await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "question"))
        await user.until("agent: 1 blocks")
        await user.cancel(session)
        assert await first == "cancelled"
        assert await user.prompt(session, "question", "and more") == "end_turn"


async def test_a_withdrawn_prompt_is_never_taken_up(version):
    agent = plain_agent()
    go_on, started = asyncio.Event(), list[str]()

    @agent.prompt
    async def wait(turn: Turn) -> None:
        started.append(turn.text)
        await turn.say(turn.text)
        await go_on.wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        first = user.start(user.prompt(session, "first"))
        await user.until("agent: first")
        assert user.dialect is not None
        method, params = user.dialect.request_to_wire(Prompt(session_id=session, content=[Text("second")]))
        call = user.peer.send_request(method, params)
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(RequestCancelled):
            await call
        go_on.set()
        assert await first == "end_turn"
        assert started == ["first"]


@pytest.mark.requirement("RPC-37", "RPC-38")
async def test_an_exception_is_a_clean_failure_with_a_correlation_id(version, caplog):
    agent = plain_agent()

    @agent.prompt
    async def fail(turn: Turn) -> None:
        async with turn.tool_call("Try"):
            raise ValueError("secret details")

    async with User(agent, version) as user:
        session = await user.new_session()
        if version == 2:
            assert await user.prompt(session, "x") == "error"
            error = user.transcripts[session].state.error
            assert error is not None
            correlation_id, message = error["data"]["correlationId"], error["message"]
        else:
            with pytest.raises(InternalError) as raised:
                await user.prompt(session, "x")
            correlation_id, message = raised.value.correlation_id, raised.value.message
        assert message == f"Internal error (correlation id {correlation_id})"
        assert correlation_id in caplog.text
        assert "secret details" in caplog.text
        assert not any("secret" in repr(frame) for frame in user.sent())
        assert [call.status for call in user.transcripts[session].tool_calls.values()] == ["failed"]


async def test_a_handler_may_answer_with_an_error_of_its_own(version):
    agent = plain_agent()

    @agent.prompt
    async def fail(turn: Turn) -> None:
        raise RequestFailed(-32050, "The model is asleep")

    async with User(agent, version) as user:
        session = await user.new_session()
        if version == 2:
            assert await user.prompt(session, "x") == "error"
            assert user.transcripts[session].state.error == {"code": -32050, "message": "The model is asleep"}
        else:
            with pytest.raises(RequestFailed, match="asleep"):
                await user.prompt(session, "x")


async def test_what_a_handler_returns_must_be_a_stop_reason(version, caplog):
    agent = plain_agent()

    @agent.prompt
    async def chatty(turn: Turn) -> str:
        return "Hello!"

    async with User(agent, version) as user:
        session = await user.new_session()
        if version == 2:
            assert await user.prompt(session, "x") == "error"
        else:
            with pytest.raises(InternalError):
                await user.prompt(session, "x")
        assert "a prompt handler returned 'Hello!': expected None, one of end_turn, max_tokens" in caplog.text


async def test_every_open_tool_call_gets_a_final_status(version):
    """FN-25: also one that was opened beside the handler and is still open when the turn ends."""
    agent = plain_agent(cancel_grace=0.01)

    @agent.prompt
    async def leave_open(turn: Turn) -> None:
        await turn.tool_call("Left open").__aenter__()
        await turn.say("waiting")
        await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: waiting")
        await user.cancel(session)
        assert await reply == "cancelled"
        (call,) = user.transcripts[session].tool_calls.values()
        assert call.status == ("cancelled" if version == 2 else "failed")


@pytest.mark.requirement("CANCEL-10")
async def test_nothing_can_be_told_in_a_turn_that_is_over(version):
    agent = plain_agent()
    turns: list[Turn] = []

    @agent.prompt
    async def remember(turn: Turn) -> None:
        turns.append(turn)

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        with pytest.raises(RuntimeError, match="the turn has ended"):
            await turns[0].say("too late")
        await turns[0].session.set_title("A title may come at any time")
        await user.until("title A title may come at any time")


@pytest.mark.parametrize("deadline", ["idle_deadline", "turn_deadline"])
async def test_a_turn_past_its_deadline_is_ended(version, deadline):
    deadlines: dict[str, Any] = {deadline: 0.02}
    agent = plain_agent(**deadlines)

    @agent.prompt
    async def hang(turn: Turn) -> None:
        async with turn.tool_call("Hang"):
            await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        if version == 2:
            assert await user.prompt(session, "x") == "error"
        else:
            with pytest.raises(RequestCancelled, match="The turn"):
                await user.prompt(session, "x")
        assert all(call.finished for call in user.transcripts[session].tool_calls.values())


def test_the_time_in_which_the_user_is_asked_does_not_count(version):
    agent = plain_agent(idle_deadline=5, turn_deadline=5)

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Ask") as call:
            assert await turn.allowed(call)
            await turn.say("allowed")

    async def slowly(asked: PermissionRequest) -> PermissionAnswer:
        await asyncio.sleep(15)
        return PermissionAnswer(outcome="selected", option_id=asked.options[0].id)

    async def main() -> None:
        async with User(agent, version) as user:
            user.answers[PermissionRequest] = slowly
            session = await user.new_session()
            assert await user.prompt(session, "x") == "end_turn"

    run(main())


async def test_the_end_of_the_connection_ends_every_turn():
    """FN-79: nobody calls close; the end of input does it."""
    agent = plain_agent()
    ended: list[str] = []

    @agent.prompt
    async def hang(turn: Turn) -> None:
        try:
            await turn.say("waiting")
            await asyncio.Event().wait()
        finally:
            ended.append(turn.text)

    async with User(agent, 1) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: waiting")
    assert ended == ["x"]
    assert reply.cancelled() or reply.done() or reply.cancelling()
