"""Our client and the v2 agent made with the official TypeScript SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from accord.errors import AuthRequired, InvalidParams, MethodNotFound, NotFound
from accord.session.capabilities import AgentLogin
from accord.session.entities import AGENT, Exit
from accord.session.requests import (
    Authenticate,
    ListSessions,
    LoadSession,
    ResumeSession,
    SessionOpened,
    SessionPage,
    SetOption,
)
from accord.transports.process import Process
from tests.conversations.client_side import ClientSide
from tests.conversations.expected import PLAN_DONE, STORY_TOLD_IN_V2
from tests.conversations.story import MANY, MEBIBYTE, STORY, TEXT, THOUGHT
from tests.interop.typescript_peer import need_node, script

pytestmark = [pytest.mark.interop, pytest.mark.timeout(60)]


@pytest.fixture
async def client() -> AsyncIterator[ClientSide]:
    need_node()
    async with ClientSide(Process(script("agent_v2.mjs"))) as connected:
        yield connected


async def test_our_offer_is_understood_as_version_2(client: ClientSide):
    assert client.dialect is not None
    assert client.dialect.name == "v2"
    assert client.agent is not None
    assert client.agent.info is not None
    assert client.agent.info.name == "official"
    assert client.agent.auth_methods == [AgentLogin(id="key", name="With a key")]


async def test_version_2_can_be_asked_for_alone():
    need_node()
    async with ClientSide(Process(script("agent_v2.mjs")), version=2) as client:
        offer = msgspec.json.decode(client.frames[0][1])["params"]
        assert sorted(offer) == ["capabilities", "info", "protocolVersion"]
        assert await client.prompt(await client.new_session(), "refuse") == "refusal"


async def test_a_session_opens_with_its_options_and_commands(client: ClientSide):
    transcript = client.transcripts[await client.new_session()]
    assert [(option.id, option.value) for option in transcript.options] == [("mode", "quick"), ("web", False)]
    assert [command.name for command in transcript.commands] == ["review"]


async def test_a_whole_turn_is_told_in_order(client: ClientSide):
    session_id = await client.new_session()
    assert await client.prompt(session_id, "story") == "end_turn"
    emptied = ("thought is: ", "agent is: ")
    assert [line for line in client.seen if line not in emptied] == STORY_TOLD_IN_V2


async def test_after_a_turn_the_transcript_tells_the_story(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "story")
    transcript = client.transcripts[session_id]
    assert [(message.role, message.text) for message in transcript.messages.values()] == [
        ("user", "story"),
        ("thought", THOUGHT),
        ("agent", TEXT),
    ]
    assert transcript.plans["main"].entries == PLAN_DONE
    assert [call.status for call in transcript.tool_calls.values()] == ["completed"] * 3
    (terminal,) = transcript.terminals.values()
    assert terminal.text == STORY["command"]["output"]
    assert terminal.exit == Exit(code=0)
    assert transcript.info.title == STORY["title"]


async def test_the_answer_names_the_message_that_is_told_back(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "refuse")
    assert list(client.transcripts[session_id].messages) == [("user", "user-1")]


async def test_permission_for_a_call_that_was_never_told_is_shown(client: ClientSide):
    """FN-06: the request brings the tool call with it."""
    session_id = await client.new_session()
    assert await client.prompt(session_id, "permission") == "end_turn"
    assert client.transcripts[session_id].tool_calls["call-unseen"].title == STORY["edit"]["title"]


async def test_a_cancel_ends_in_an_idle_state_that_says_so(client: ClientSide):
    session_id = await client.new_session()
    turn = client.start(client.prompt(session_id, "wait"))
    await client.until("call-wait in_progress")
    await client.cancel(session_id)
    assert await turn == "cancelled"
    assert client.seen[-2:] == ["call-wait cancelled", "idle cancelled"]


async def test_a_cancel_withdraws_an_open_question():
    need_node()
    async with ClientSide(Process(script("agent_v2.mjs")), chooses=None) as client:
        session_id = await client.new_session()
        turn = client.start(client.prompt(session_id, "permission"))
        await client.until("asked session/request_permission")
        await client.cancel(session_id)
        assert await turn == "cancelled"


async def test_options_are_set_and_told(client: ClientSide):
    session_id = await client.new_session()
    mode = STORY["mode"]["id"]
    answer: SessionOpened = await client.ask(SetOption(session_id=session_id, option_id="mode", value=mode))
    assert isinstance(answer.options, list)
    assert [option.value for option in answer.options] == [mode, False]
    await client.ask(SetOption(session_id=session_id, option_id="web", value=True))
    assert client.seen == [f"options mode={mode} web=False", f"options mode={mode} web=True"]


async def test_a_session_is_resumed_with_and_without_its_history(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "story")
    page: SessionPage = await client.ask(ListSessions())
    assert [each.session_id for each in page.sessions] == [session_id]
    before = client.transcripts.pop(session_id)
    await client.ask(LoadSession(session_id=session_id, cwd=STORY["cwd"]))
    again = client.transcripts[session_id]
    assert (again.messages, again.tool_calls, again.plans) == (before.messages, before.tool_calls, before.plans)
    assert again.terminals == before.terminals
    client.seen.clear()
    await client.ask(ResumeSession(session_id=session_id, cwd=STORY["cwd"]))
    assert client.seen == ["idle"]


async def test_many_pieces_arrive_in_order(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, f"many {MANY}")
    pieces = [f"agent: {number} " for number in range(MANY)]
    assert client.seen == ["user is: many 200", "running", "agent is: ", *pieces, "idle end_turn"]


async def test_a_message_of_several_mebibytes_goes_there_and_back(client: ClientSide):
    text = "größe 🐘 " * (3 * MEBIBYTE // 12)
    session_id = await client.new_session()
    await client.prompt(session_id, "echo", text)
    (message,) = [each for each in client.transcripts[session_id].messages.values() if each.role == AGENT]
    assert message.text == text


async def test_logging_in_is_asked_for_and_opens_the_door(client: ClientSide):
    with pytest.raises(AuthRequired):
        await client.new_session(STORY["locked"])
    with pytest.raises(InvalidParams):
        await client.ask(Authenticate(method_id="none"))
    await client.ask(Authenticate(method_id="key"))
    assert await client.new_session(STORY["locked"])


@pytest.mark.bad_frames
async def test_its_errors_are_ours(client: ClientSide):
    with pytest.raises(MethodNotFound):
        await client.peer.request("_accord/nothing", {})
    with pytest.raises(InvalidParams):
        await client.peer.request("session/new", {})
    with pytest.raises(NotFound) as missing:
        await client.prompt("none", "story")
    assert missing.value.session_id == "none"


async def test_a_failed_turn_ends_in_an_idle_state_with_the_error(client: ClientSide):
    session_id = await client.new_session()
    assert await client.prompt(session_id, "fail") == "error"
    assert client.transcripts[session_id].state.error == {"code": -32603, "message": "the model is gone"}


async def test_a_method_that_we_do_not_have_is_refused_by_its_name(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "unknown")
    assert "agent: -32601 _accord/nothing" in client.seen
