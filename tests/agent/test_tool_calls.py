from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Turn
from accord.session.entities import Diff, Location
from accord.session.requests import PermissionAnswer, PermissionOption, PermissionRequest, ToolCallSubject
from accord.session.updates import ToolCallChanged, ToolCallPatch
from tests.agent.user import User, plain_agent


def statuses(user: User) -> list[str]:
    """The statuses that were told by updates, repetitions left out."""
    told: list[str] = []
    for change in user.changes:
        if isinstance(change, ToolCallChanged) and (not told or told[-1] != change.call.status):
            told.append(change.call.status)
    return told


@pytest.mark.requirement("TOOL-24", "TOOL-25", "TOOL-26", "TOOL-28", "PROMPT-09", "PROMPT-14", "PROMPT-17")
@pytest.mark.parametrize("reports", [False, True])
async def test_a_tool_call_is_pending_then_in_progress_then_completed(version, reports):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", kind="read", name="look", raw_input={"a": 1}, locations=["a.py"]) as call:
            if reports:
                await call.say("one")
                await call.locate("b.py", 3)
                await call.update(raw_output={"found": 2})

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert statuses(user) == ["pending", "in_progress", "completed"]
        (call,) = user.transcripts[session].tool_calls.values()
        assert (call.title, call.kind, call.name, call.raw_input) == ("Look", "read", "look", {"a": 1})
        assert [place.path for place in call.locations][:1] == ["/work/project/a.py"]
        if reports:
            assert call.raw_output == {"found": 2}
            assert len(call.content) == 1


async def test_all_locations_are_replaced_in_one_update(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Search", locations=["a.py"]) as call:
            await call.begin()
            await call.update(locations=["b.py", Location(path="c.py", line=3)])

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert len([change for change in user.changes if isinstance(change, ToolCallChanged)]) == 4
        (call,) = user.transcripts[session].tool_calls.values()
        assert [(place.path, place.line) for place in call.locations] == [
            ("/work/project/b.py", None),
            ("/work/project/c.py", 3),
        ]


GOING_BACK: dict[str, Any] = {
    "an update": lambda turn, call: call.update(status="in_progress"),
    "another end": lambda turn, call: turn.send(ToolCallPatch(id=call.id, status="failed")),
    "a status of ones own": lambda turn, call: turn.send(ToolCallPatch(id=call.id, status="_again")),
    "the default": lambda turn, call: turn.send(ToolCallPatch(id=call.id, status=None)),
    "a question": lambda turn, call: turn.client.request(
        PermissionRequest(
            session_id=turn.session.id,
            options=[PermissionOption(id="y", name="Yes", kind="allow_once")],
            subject=ToolCallSubject(call=ToolCallPatch(id=call.id, status="pending")),
        )
    ),
}


@pytest.mark.requirement("TOOL-30", "AMB-55")
@pytest.mark.parametrize("way", GOING_BACK)
async def test_the_status_of_a_call_that_has_ended_stays_and_more_can_be_shown(version, way):
    agent = plain_agent()
    caught: list[str] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look", id="c") as call:
            call.end("completed")
            try:
                await GOING_BACK[way](turn, call)
            except ValueError as error:
                caught.append(str(error))
            await call.update(status="completed", title="Looked")
            await call.say("found")

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert statuses(user) == ["pending", "in_progress", "completed"]
        call = user.transcripts[session].tool_calls["c"]
        assert (call.title, len(call.content)) == ("Looked", 1)
        assert user.asked == []
    assert caught == ["the tool call 'c' has ended as completed: its status can't change any more"]


@pytest.mark.requirement("TOOL-27", "PERM-17", "PERM-10")
async def test_a_denied_tool_call_has_failed(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Delete", kind="delete") as call:
            assert not await turn.allowed(call)

    async with User(agent, version, "reject_once") as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert statuses(user) == ["pending", "failed"]


@pytest.mark.requirement("RPC-41")
async def test_a_tool_that_raises_has_failed_and_the_turn_goes_on(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        try:
            async with turn.tool_call("Divide") as call:
                await call.say(str(1 // 0))
        except ZeroDivisionError:
            await turn.say("That did not work.")
        async with turn.tool_call("Give up") as call:
            await call.fail("no luck")

    async with User(agent, version) as user:
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert [call.status for call in user.transcripts[session].tool_calls.values()] == ["failed", "failed"]


async def test_a_cancelled_tool_call_says_so_where_the_version_can(version):
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Wait"):
            await turn.say("waiting")
            await asyncio.Event().wait()

    async with User(agent, version) as user:
        session = await user.new_session()
        reply = user.start(user.prompt(session, "x"))
        await user.until("agent: waiting")
        await user.cancel(session)
        await reply
        assert statuses(user) == ["pending", "cancelled" if version == 2 else "failed"]


@pytest.mark.requirement("PERM-01", "PERM-02", "PERM-03", "PERM-04", "PERM-05", "PERM-06", "PERM-07", "TOOL-35")
async def test_the_diff_is_in_the_question_and_in_the_tool_call(version):
    """FN-78: some clients show only the one, some only the other."""
    agent = plain_agent()

    @agent.prompt
    async def edit(turn: Turn) -> None:
        async with turn.tool_call("Edit a.py", kind="edit") as call:
            await call.diff("a.py", "old\n", "new\n")
            await turn.allowed(call)

    async with User(agent, version) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        (asked,) = user.asked
        assert isinstance(asked, PermissionRequest)
        assert isinstance(asked.subject, ToolCallSubject)
        assert asked.subject.call.title == "Edit a.py"
        in_question: Any = asked.subject.call.content
        in_call = list(next(iter(user.transcripts[session].tool_calls.values())).content)
        for items in (in_question, in_call):
            (diff,) = items
            assert isinstance(diff, Diff)
            assert diff.changes[0].path == "/work/project/a.py"
            assert (diff.patch is not None and "+new" in diff.patch.text) or diff.changes[0].new_text == "new\n"


@pytest.mark.requirement("PERM-08", "PERM-09", "PERM-11")
@pytest.mark.parametrize(("kind", "times"), [("allow_once", 3), ("allow_always", 1), ("reject_always", 1)])
async def test_an_always_choice_is_remembered(version, kind, times):
    agent = plain_agent()
    said: list[bool] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        for number in range(3):
            async with turn.tool_call(f"Run {number}", kind="execute", name="run") as call:
                said.append(await turn.allowed(call))

    async with User(agent, version, kind) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        assert len(user.asked) == times
        assert said == [kind != "reject_always"] * 3


@pytest.mark.parametrize("answer", ["unknown option", "cancelled", "error"])
async def test_anything_but_a_known_allow_is_a_no(version, answer):
    agent = plain_agent()
    said: list[bool] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        said.append(await turn.allowed("May I?"))

    def respond(asked: PermissionRequest) -> PermissionAnswer:
        if answer == "error":
            raise RuntimeError
        if answer == "cancelled":
            return PermissionAnswer(outcome="cancelled")
        return PermissionAnswer(outcome="selected", option_id="whatever")

    async with User(agent, version) as user:
        user.answers[PermissionRequest] = respond
        session = await user.new_session()
        assert await user.prompt(session, "x") == "end_turn"
        assert said == [False]


async def test_a_pending_permission_blocks_no_other_session(version):
    """FN-13: sessions are independent."""
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        if turn.text == "ask":
            async with turn.tool_call("Ask") as call:
                await turn.allowed(call)
        await turn.say(f"did {turn.text}")

    async with User(agent, version, None) as user:
        one, two = await user.new_session("/one"), await user.new_session("/two")
        asking = user.start(user.prompt(one, "ask"))
        await user.until("asked session/request_permission")
        assert await user.prompt(two, "work") == "end_turn"
        await user.cancel(one)
        assert await asking == "cancelled"


@pytest.mark.requirement("CANCEL-04", "PERM-15")
async def test_a_cancel_releases_a_pending_permission(version):
    """FN-14: the handler no longer waits, and the client is told that the question is withdrawn."""
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Ask") as call:
            await turn.allowed(call)

    async with User(agent, version, None) as user:
        never = asyncio.Event()
        user.answers[PermissionRequest] = lambda asked: never.wait()
        session = await user.new_session()
        asking = user.start(user.prompt(session, "x"))
        await user.until("asked session/request_permission")
        await user.cancel(session)
        assert await asking == "cancelled"
        assert any(frame.get("method") == "$/cancel_request" for frame in user.sent())


async def test_while_the_user_is_asked_the_state_is_requires_action():
    agent = plain_agent()

    @agent.prompt
    async def work(turn: Turn) -> None:
        await turn.allowed("May I?")

    async with User(agent, 2) as user:
        session = await user.new_session()
        await user.prompt(session, "x")
        states = [line for line in user.seen if line.split()[0] in ("running", "requires_action", "idle")]
        assert states == ["running", "requires_action", "running", "idle end_turn"]


async def test_the_user_can_be_asked_by_a_form(version):
    agent = plain_agent()
    answers: list[Any] = []

    @agent.prompt
    async def work(turn: Turn) -> None:
        assert turn.can_ask
        answers.append(await turn.ask("Your name?", {"name": {"type": "string"}}))

    async with User(agent, version) as user:
        from accord.session.requests import ElicitationAnswer, ElicitationRequest

        user.answers[ElicitationRequest] = lambda asked: ElicitationAnswer(action="accept", content={"name": "Ada"})
        session = await user.new_session()
        await user.prompt(session, "x")
        user.answers[ElicitationRequest] = lambda asked: ElicitationAnswer(action="decline")
        await user.prompt(session, "x")
        assert answers == [{"name": "Ada"}, None]
