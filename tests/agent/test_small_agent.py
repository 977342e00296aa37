"""What a small agent gives a client, item by item of the protocol's checklist for agents."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent
from accord.errors import AuthRequired, InvalidParams
from accord.session.capabilities import ClientCapabilities
from accord.session.content import ResourceLink, Text
from accord.session.requests import (
    Authenticate,
    CreateTerminal,
    LoadSession,
    PermissionRequest,
    Prompt,
    ReadFile,
    SetMode,
    SetOption,
)
from tests.agent.user import User
from tests.conversations.seen import told

PROGRAM = Path(__file__).with_name("small_agent.py")
NOTHING = ClientCapabilities()


@pytest.fixture
def agent() -> Agent:
    return runpy.run_path(str(PROGRAM))["agent"]


@pytest.fixture
def cwd(tmp_path: Path) -> str:
    (tmp_path / "note.txt").write_text("one\ntwo\nthree\n")
    return str(tmp_path)


async def logged_in(user: User, cwd: str) -> str:
    await user.ask(Authenticate(method_id="key"))
    return await user.new_session(cwd)


def test_it_has_at_most_25_lines():
    assert len([line for line in PROGRAM.read_text(encoding="utf-8").splitlines() if line]) <= 25


@pytest.mark.requirement("CHECK-01", "CHECK-02", "CHECK-04", "CHECK-06")
async def test_it_opens_a_session_tells_its_turn_and_gives_a_reason(version, agent, cwd):
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await logged_in(user, cwd)
        link = ResourceLink(uri="file:///spec.md", name="spec.md")
        content = [Text("See "), link]
        answer = await user.ask(Prompt(session_id=session, content=content))
        await user.until("agent: Done: See [spec.md](file:///spec.md)")
        assert answer.stop_reason == (None if version == 2 else "end_turn")
        if version == 2:
            await user.until("idle end_turn")
        (kinds,) = [{frame["params"]["update"]["sessionUpdate"] for frame in updates(user)}]
        v1 = {"plan", "tool_call", "tool_call_update", "agent_message_chunk", "current_mode_update"}
        assert (v1 if version == 1 else {"plan_update", "tool_call_update", "agent_message_chunk"}) <= kinds


def updates(user: User) -> list[dict[str, Any]]:
    return [frame for frame in user.sent() if frame.get("method") == "session/update"]


@pytest.mark.requirement("CHECK-06")
async def test_a_cancel_ends_its_turn(version, agent, cwd):
    async with User(agent, version, prefers=None) as user:
        session = await logged_in(user, cwd)
        reply = user.start(user.prompt(session, "go"))
        await user.until("asked session/request_permission")
        await user.cancel(session)
        assert await reply == "cancelled"


@pytest.mark.requirement("CHECK-03", "CHECK-08")
@pytest.mark.parametrize("offers", ["everything", "nothing"])
async def test_it_asks_the_client_for_what_that_offers_and_for_nothing_else(version, agent, cwd, offers):
    given: dict[str, Any] = {} if offers == "everything" else {"capabilities": NOTHING}
    async with User(agent, version, **given) as user:
        user.files[f"{cwd}/note.txt"] = "one\ntwo\nthree\n"
        session = await logged_in(user, cwd)
        await user.prompt(session, "go")
        await user.prompt(session, "/list")
        assert told(user.transcripts[session])["calls"][0][-1] == "[two\n]"
        asked = {type(each) for each in user.asked} - {PermissionRequest}
        there = offers == "everything" and version != 2
        assert ({ReadFile, CreateTerminal} <= asked) if there else asked == set()
        assert ("note.txt" in user.said(session)) is not there


@pytest.mark.requirement("CHECK-05")
async def test_its_paths_are_absolute_and_its_lines_count_from_one(version, agent, cwd):
    async with User(agent, version, capabilities=NOTHING) as user:
        with pytest.raises(InvalidParams, match="absolute"):
            await logged_in(user, "relative")
        session = await logged_in(user, cwd)
        await user.prompt(session, "go")
        (call,) = user.transcripts[session].tool_calls.values()
        assert [(place.path, place.line) for place in call.locations] == [
            (f"{cwd}/note.txt", None),
            (f"{cwd}/note.txt", 2),
        ]


@pytest.mark.requirement("CHECK-07")
async def test_it_names_its_login_and_opens_nothing_without_it(version, agent, cwd):
    async with User(agent, version) as user:
        assert user.agent is not None
        assert [method.id for method in user.agent.auth_methods] == ["key"]  # type: ignore[union-attr]
        with pytest.raises(AuthRequired):
            await user.new_session(cwd)
        assert await logged_in(user, cwd)


@pytest.mark.requirement("CHECK-08")
async def test_it_loads_sessions_and_has_modes_and_a_command(version, agent, cwd):
    async with User(agent, version, capabilities=NOTHING) as user:
        session = await logged_in(user, cwd)
        await user.until("commands list")
        if version == 2:
            await user.ask(SetOption(session_id=session, option_id="mode", value="code"))
        else:
            await user.ask(SetMode(session_id=session, mode_id="code"))
        await user.prompt(session, "/list")
        assert user.said(session) == "note.txt\n"
    async with User(agent, version, capabilities=NOTHING) as user:
        await user.ask(Authenticate(method_id="key"))
        opened = await user.ask(LoadSession(session_id=session, cwd=cwd))
        assert user.said(session) == "note.txt\n"
        assert {option.id: option.value for option in opened.options} == {"mode": "code"}
