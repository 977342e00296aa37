"""One small, complete turn and what belongs to it, told in every version over every transport."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accord.session.capabilities import ClientCapabilities
from accord.session.requests import ListSessions, LoadSession, SessionPage
from tests.conversations.client_side import ClientSide
from tests.conversations.conftest import Connect
from tests.conversations.expected import PLAN_DONE
from tests.conversations.seen import told
from tests.conversations.story import MANY, STORY, TEXT, THOUGHT

COMMAND, EDIT = STORY["command"], STORY["edit"]


async def account_of_the_agent(client: ClientSide, session_id: str) -> Any:
    return msgspec.json.decode(await client.peer.request("_accord/told", {"sessionId": session_id}, deadline=30))


def messages(client: ClientSide) -> list[dict[str, Any]]:
    """What the agent sent, in wire order."""
    return [msgspec.json.decode(frame) for direction, frame in client.frames if direction == "received"]


@pytest.mark.requirement("RPC-09", "TRANS-01", "TRANS-11", "TRANS-12")
async def test_after_a_turn_both_sides_tell_the_same_story(connect: Connect):
    async with connect() as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "story") == "end_turn"
        account = told(client.transcripts[session_id])
        assert account == await account_of_the_agent(client, session_id)
    assert account["messages"] == [["user", "story"], ["thought", THOUGHT], ["agent", TEXT]]
    assert [call[3] for call in account["calls"]] == ["completed"] * 3
    assert client.transcripts[session_id].plans["main"].entries == PLAN_DONE


@pytest.mark.requirement("AMB-09")
async def test_without_files_and_terminals_the_agent_shows_its_own(connect: Connect):
    async with connect(capabilities=ClientCapabilities()) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "story") == "end_turn"
    assert not [line for line in client.seen if line.startswith(("asked fs/", "asked terminal/"))]
    transcript = client.transcripts[session_id]
    assert transcript.tool_calls["call-run"].status == "completed"
    shown = [terminal.text for terminal in transcript.terminals.values()] or client.seen
    assert any(COMMAND["output"] in each for each in shown)


async def test_a_question_about_a_call_that_was_never_told_is_accepted_and_shown(connect: Connect):
    """FN-06: the request brings the tool call with it, which is applied like any other report."""
    async with connect() as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "permission") == "end_turn"
    call = client.transcripts[session_id].tool_calls["call-unseen"]
    assert (call.title, call.status) == (EDIT["title"], "pending")
    assert client.seen.index("asked session/request_permission") < client.seen.index("call-unseen pending")


async def test_a_rejection_fails_the_call_and_not_the_turn(connect: Connect):
    async with connect(chooses="no") as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "story") == "end_turn"
    assert client.transcripts[session_id].tool_calls[EDIT["id"]].status == "failed"
    assert client.files[STORY["file"]["path"]] == STORY["file"]["before"]


async def test_nothing_of_a_turn_comes_after_the_message_that_ends_it(connect: Connect):
    """FN-02: the last update of a turn is on the wire before what ends it: the answer, or the idle state."""
    async with connect() as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "story")
        last = messages(client)[-1]
    ends = last["result"] if "result" in last else last["params"]["update"]
    assert ends["stopReason"] == "end_turn"


async def test_when_a_turn_is_over_all_of_it_has_been_seen(connect: Connect):
    """FN-03: the end of a turn does not overtake the updates before it."""
    async with connect() as client:
        session_id = await client.new_session()
        await client.prompt(session_id, f"many {MANY}")
        pieces = [line for line in client.seen if line.startswith("agent: ")]
    assert pieces == [f"agent: {number} " for number in range(MANY)]


@pytest.mark.requirement("AMB-37")
async def test_a_cancel_ends_the_turn_once_and_its_calls_with_it(connect: Connect):
    """FN-22: exactly one stop reason; FN-25: no call stays open."""
    async with connect() as client:
        session_id = await client.new_session()
        turn = client.start(client.prompt(session_id, "wait"))
        await client.until("call-wait in_progress")
        await client.cancel(session_id)
        assert await turn == "cancelled"
        assert client.transcripts[session_id].tool_calls["call-wait"].finished
        assert await client.prompt(session_id, "refuse") == "refusal"
    assert str(messages(client)).count("'stopReason': 'cancelled'") == 1


async def test_a_cancel_releases_an_open_question(connect: Connect):
    """FN-14: the waiter on the agent's side does not wait for ever."""
    async with connect(chooses=None) as client:
        session_id = await client.new_session()
        turn = client.start(client.prompt(session_id, "permission"))
        await client.until("asked session/request_permission")
        await client.cancel(session_id)
        assert await turn == "cancelled"


async def test_an_open_question_holds_up_no_other_session(connect: Connect):
    """FN-13: sessions are independent."""
    async with connect(chooses=None) as client:
        waiting, other = await client.new_session(), await client.new_session()
        turn = client.start(client.prompt(waiting, "permission"))
        await client.until("asked session/request_permission")
        assert await client.prompt(other, "many 3") == "end_turn"
        await client.cancel(waiting)
        await turn


async def test_the_commands_of_a_new_session_follow_its_answer(connect: Connect):
    """FN-01: no update about a session comes before the answer that names it."""
    async with connect() as client:
        session_id = await client.new_session()
        await client.until("commands review")
    opened = [message.get("result", {}).get("sessionId") for message in messages(client)].index(session_id)
    updates = [message.get("params", {}).get("sessionId") for message in messages(client)]
    assert session_id not in updates[:opened]
    assert session_id in updates[opened:]


@pytest.mark.requirement("SESS-14", "AMB-72")
async def test_a_session_told_again_is_the_same_story(connect: Connect):
    async with connect() as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "story")
        before = told(client.transcripts.pop(session_id))
        opened = await client.ask(LoadSession(session_id=session_id, cwd=STORY["cwd"]))
        client.take_in(session_id, opened)
        assert told(client.transcripts[session_id]) == before
        page: SessionPage = await client.ask(ListSessions())
    assert [(each.session_id, each.title) for each in page.sessions] == [(session_id, STORY["title"])]
