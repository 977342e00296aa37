"""The example agent, driven by a client of the tests in every version."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.dialects.negotiation import Offered
from accord.errors import MethodNotFound, NotFound
from accord.session.entities import Diff
from accord.session.requests import Authenticate, CloseSession, ListSessions, LoadSession, ResumeSession, SessionPage
from accord.transports.process import Process
from tests.conversations.client_side import ClientSide
from tests.conversations.seen import told

pytestmark = pytest.mark.timeout(60)

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "agent.py"


@pytest.fixture(params=[1, 2, "2-draft", "auto"])
def version(request: pytest.FixtureRequest) -> Offered:
    return request.param


@pytest.fixture
async def client(version: Offered) -> AsyncIterator[ClientSide]:
    process = Process([sys.executable, "-W", "error", str(PROGRAM)], close_grace=20.0)
    connected = ClientSide(process, version=version)
    async with connected:
        yield connected
    reason = await connected.peer.wait_closed()
    assert reason.exit_code == 0, reason
    if "ACCORD_SCHEMAS" in os.environ:
        from tests.frame_watch import violations_received

        assert violations_received(connected.frames) == []


async def test_it_writes_a_note_down_when_it_may(client: ClientSide):
    session_id = await client.new_session("/ws")
    assert await client.prompt(session_id, "Buy milk") == "end_turn"
    assert await client.prompt(session_id, "Call Ada") == "end_turn"
    account = told(client.transcripts[session_id])
    assert account["messages"] == [
        ["user", "Buy milk"],
        ["agent", "I wrote down: Buy milk"],
        ["user", "Call Ada"],
        ["agent", "I wrote down: Call Ada"],
    ]
    assert account["plans"] == [["main", ["Write down the note", "medium", "completed"]]]
    second = client.transcripts[session_id].tool_calls["call-1"]
    assert (second.status, second.kind) == ("completed", "edit")
    (diff,) = second.content
    assert isinstance(diff, Diff)
    assert diff.changes[0].path == "/ws/notes.md"
    shown = diff.patch.text if diff.patch is not None else diff.changes[0].new_text
    assert shown is not None
    assert "- Buy milk\n" in shown
    assert "- Call Ada\n" in shown


async def test_it_leaves_the_note_when_it_may_not(client: ClientSide):
    client.chooses = "no"
    session_id = await client.new_session("/ws")
    assert await client.prompt(session_id, "Buy milk") == "end_turn"
    assert told(client.transcripts[session_id])["messages"][-1] == ["agent", "As you like."]
    assert client.transcripts[session_id].tool_calls["call-0"].status == "failed"


async def test_a_cancel_ends_the_turn(client: ClientSide):
    client.chooses = None
    session_id = await client.new_session("/ws")
    turn = client.start(client.prompt(session_id, "Buy milk"))
    await client.until("asked session/request_permission")
    await client.cancel(session_id)
    assert await turn == "cancelled"
    assert client.transcripts[session_id].tool_calls["call-0"].status == "failed"


async def test_a_session_is_listed_told_again_resumed_and_closed(client: ClientSide):
    session_id = await client.new_session("/ws")
    await client.prompt(session_id, "Buy milk")
    page: SessionPage = await client.ask(ListSessions())
    assert [(each.session_id, each.cwd) for each in page.sessions] == [(session_id, "/ws")]
    before = told(client.transcripts.pop(session_id))
    await client.ask(LoadSession(session_id=session_id, cwd="/ws"))
    assert told(client.transcripts[session_id]) == before
    client.seen.clear()
    await client.ask(ResumeSession(session_id=session_id, cwd="/ws"))
    assert client.seen in ([], ["idle end_turn"])
    await client.ask(CloseSession(session_id=session_id))


async def test_what_it_does_not_have_it_refuses(client: ClientSide):
    with pytest.raises(NotFound):
        await client.prompt("none", "Buy milk")
    with pytest.raises(MethodNotFound):
        await client.ask(Authenticate(method_id="key"))
