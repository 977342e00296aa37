"""Our client and the v1 agents made with the official SDKs, in Python and in TypeScript."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from accord.errors import AuthRequired, InvalidParams, MethodNotFound, RequestFailed
from accord.session.capabilities import AgentLogin
from accord.session.entities import AGENT, Diff
from accord.session.requests import Authenticate, ListSessions, LoadSession, SessionPage, SetMode
from accord.transports.process import Process
from tests.conversations.client_side import ClientSide
from tests.conversations.expected import PLAN_DONE, STORY_TOLD_IN_V1
from tests.conversations.story import MANY, MEBIBYTE, PATH, STORY, TEXT, THOUGHT
from tests.interop.typescript_peer import need_node, script

pytestmark = pytest.mark.timeout(60)

PYTHON = [sys.executable, str(Path(__file__).resolve().parent / "peers" / "official_agent.py"), str(PATH)]


@pytest.fixture(
    params=[
        pytest.param(PYTHON, id="python"),
        pytest.param(script("agent_v1.mjs"), id="typescript", marks=pytest.mark.interop),
    ]
)
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param is not PYTHON:
        need_node()
    return request.param


@pytest.fixture
async def client(command: list[str]) -> AsyncIterator[ClientSide]:
    async with ClientSide(Process(command)) as connected:
        yield connected


@pytest.mark.requirement("EXT-02", "AMB-15")
async def test_an_offer_of_version_2_is_answered_with_version_1_and_understood(client: ClientSide):
    _, offer = client.frames[0]
    assert msgspec.json.decode(offer)["params"]["protocolVersion"] == 2
    assert client.dialect is not None
    assert client.dialect.name == "v1"
    assert client.agent is not None
    assert client.agent.info is not None
    assert client.agent.info.name == "official"
    assert client.agent.capabilities.load
    assert client.agent.auth_methods == [AgentLogin(id="key", name="With a key")]


async def test_a_whole_turn_is_told_in_order(client: ClientSide):
    session_id = await client.new_session()
    assert await client.prompt(session_id, "story") == "end_turn"
    assert client.seen == STORY_TOLD_IN_V1


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
    run = transcript.tool_calls[STORY["run"]["id"]]
    assert run.raw_output == {"output": STORY["command"]["output"], "code": 0}
    (diff,) = transcript.tool_calls[STORY["edit"]["id"]].content
    assert isinstance(diff, Diff)
    assert (diff.changes[0].old_text, diff.changes[0].new_text) == (STORY["file"]["before"], STORY["file"]["after"])
    assert transcript.usage is not None
    assert transcript.usage.used == STORY["usage"]["used"]
    assert transcript.info.title == STORY["title"]


async def test_files_and_terminals_are_served(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "story")
    assert client.files[STORY["file"]["path"]] == STORY["file"]["after"]
    (terminal,) = client.terminals.values()
    assert (terminal.command, terminal.args) == (STORY["command"]["command"], STORY["command"]["args"])
    assert terminal.cwd == STORY["cwd"]


async def test_a_rejected_permission_leaves_the_file_alone(command: list[str]):
    async with ClientSide(Process(command), chooses="no") as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "story") == "end_turn"
        assert client.files[STORY["file"]["path"]] == STORY["file"]["before"]
        assert client.transcripts[session_id].tool_calls[STORY["edit"]["id"]].status == "failed"


async def test_permission_for_a_call_that_was_never_told_is_shown(client: ClientSide):
    """FN-06: the request brings the tool call with it."""
    session_id = await client.new_session()
    assert await client.prompt(session_id, "permission") == "end_turn"
    assert client.transcripts[session_id].tool_calls["call-unseen"].title == STORY["edit"]["title"]


async def test_a_cancel_ends_the_turn_with_its_stop_reason(client: ClientSide):
    session_id = await client.new_session()
    turn = client.start(client.prompt(session_id, "wait"))
    await client.until("call-wait in_progress")
    await client.cancel(session_id)
    assert await turn == "cancelled"
    assert client.seen[-1] == "call-wait failed"


async def test_a_cancel_releases_an_open_question(command: list[str]):
    async with ClientSide(Process(command), chooses=None) as client:
        session_id = await client.new_session()
        turn = client.start(client.prompt(session_id, "permission"))
        await client.until("asked session/request_permission")
        await client.cancel(session_id)
        assert await turn == "cancelled"


async def test_stop_reasons_are_told_as_they_are(client: ClientSide):
    assert await client.prompt(await client.new_session(), "refuse") == "refusal"


async def test_many_pieces_arrive_in_order(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, f"many {MANY}")
    assert client.seen == [f"agent: {number} " for number in range(MANY)]


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
    with pytest.raises(MethodNotFound) as unknown:
        await client.peer.request("session/close", {"sessionId": "none"})
    assert unknown.value.method == "session/close"
    with pytest.raises(InvalidParams):
        await client.peer.request("session/new", {"mcpServers": []})
    with pytest.raises(RequestFailed) as missing:
        await client.ask(LoadSession(session_id="none", cwd=STORY["cwd"]))
    assert missing.value.code == -32002


async def test_a_failed_turn_is_an_error_and_the_session_lives(client: ClientSide):
    session_id = await client.new_session()
    with pytest.raises(RequestFailed) as failed:
        await client.prompt(session_id, "fail")
    assert failed.value.code == -32603
    assert await client.prompt(session_id, "refuse") == "refusal"


async def test_a_method_that_we_do_not_have_is_refused_by_its_name(client: ClientSide):
    session_id = await client.new_session()
    await client.prompt(session_id, "unknown")
    assert client.seen[-1] == "agent: -32601 _accord/nothing"


async def test_a_session_is_listed_and_loaded_with_its_history_before_the_answer(client: ClientSide):
    session_id = await client.new_session()
    page: SessionPage = await client.ask(ListSessions())
    assert [(each.session_id, each.title) for each in page.sessions] == [(session_id, STORY["title"])]
    await client.ask(LoadSession(session_id=session_id, cwd=STORY["cwd"]))
    assert client.seen == ["user: story", *(f"agent: {piece}" for piece in STORY["message"])]


async def test_a_mode_is_set_and_told(client: ClientSide):
    session_id = await client.new_session()
    modes = client.transcripts[session_id].modes
    assert modes is not None
    assert [mode.id for mode in modes.available] == ["quick", STORY["mode"]["id"]]
    await client.ask(SetMode(session_id=session_id, mode_id=STORY["mode"]["id"]))
    assert client.seen == [f"mode {STORY['mode']['id']}"]


async def test_sessions_are_told_apart(client: ClientSide):
    one, other = await client.new_session(), await client.new_session()
    turns = [client.start(client.prompt(each, f"many {MANY}")) for each in (one, other)]
    for turn in turns:
        assert await turn == "end_turn"
    texts = [[*client.transcripts[each].messages.values()][-1].text for each in (one, other)]
    assert texts == ["".join(f"{number} " for number in range(MANY))] * 2
