"""Our client and the v2 agent made with the official TypeScript SDK: what only v2 has, and how v2 tells things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord import InvalidParams, MethodNotFound, RequestFailed, StateChanged, ToolCallChanged, permissions
from accord.client.session import Session
from accord.session.entities import Cost, Diff, DiffPatch, Exit, FileChange, TerminalSize, Usage
from accord.session.mcp_servers import SseServer
from accord.session.requests import (
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionRequest,
    ToolCallSubject,
)
from tests.conversations.expected import PLAN_DONE
from tests.conversations.story import STORY, TEXT, THOUGHT
from tests.interop.official_agents import OfficialAgent, ask, each_update_and_its_line, lines_of, seen, tell

pytestmark = pytest.mark.interop

TERMINAL = "terminal-of-the-agent"
QUESTION = STORY["question"]
UPDATES = each_update_and_its_line("v2")


async def fill_in(asked: ElicitationRequest) -> ElicitationAnswer:
    return ElicitationAnswer(action="accept", content={QUESTION["field"]: QUESTION["answer"]})


def told_in_v2(path: Path) -> list[str]:
    diff = f"[modify {path}]"
    read = f"[{STORY['file']['before']}]"
    return [
        *["running", *(f"thought: {piece}" for piece in STORY["thought"]), "plan main pending pending pending"],
        *["call-read pending", "call-read in_progress", f"call-read in_progress {read}", f"call-read completed {read}"],
        *["call-edit pending", "call-edit in_progress", f"call-edit in_progress {diff}"],
        *["requires_action", f"call-edit pending {diff}", "running", f"call-edit completed {diff}"],
        *["call-run pending", "call-run in_progress", f"{TERMINAL} runs", f"call-run in_progress [{TERMINAL}]"],
        *[f"{TERMINAL} writes 5", f"{TERMINAL} writes 5", f"{TERMINAL} writes 3", f"{TERMINAL} ended"],
        *[f"call-run completed [{TERMINAL}]", "plan main completed completed completed"],
        *(f"agent: {piece}" for piece in STORY["message"]),
        *[f"usage {STORY['usage']['used']} of {STORY['usage']['size']}", f"title {STORY['title']}", "idle end_turn"],
    ]


async def test_a_whole_turn_is_told_in_order(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected(on_permission=permissions.allow_all, on_elicitation=fill_in) as client:
        session = await client.new_session(place)
        reply = session.prompt("story")
        assert await lines_of(reply) == told_in_v2(place / Path(STORY["file"]["path"]).name)
        assert reply.message_id == "user-1"
        check_transcript(session)


def check_transcript(session: Session) -> None:
    transcript = session.transcript
    assert [(message.role, message.id, message.text) for message in transcript.messages.values()] == [
        ("user", "user-1", "story"),
        ("thought", "agent_thought-1", THOUGHT),
        ("agent", "agent_message-1", TEXT),
    ]
    assert transcript.plans["main"].entries == PLAN_DONE
    assert [call.status for call in transcript.tool_calls.values()] == ["completed"] * 3
    (terminal,) = transcript.terminals.values()
    assert (terminal.text, terminal.exit) == (STORY["command"]["output"], Exit(code=0))
    assert transcript.info.title == STORY["title"]


async def test_a_session_opens_with_its_commands(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected() as client:
        session = await client.new_session(place)
        assert [command.name for command in session.commands] == ["review"]
        assert session.modes is None


async def test_a_mode_is_an_option(official_v2: OfficialAgent, place: Path):
    mode = STORY["mode"]["id"]
    async with official_v2.connected() as client:
        session = await client.new_session(place)
        await session.set_mode(mode)
        assert session.options[0].value == mode
        (told,) = await seen(client, "session/set_config_option")
        assert (told["configId"], told["value"]) == ("mode", mode)


async def test_a_question_has_a_title_and_what_it_is_about(official_v2: OfficialAgent, place: Path):
    asked: list[PermissionRequest] = []

    async def reject(question: PermissionRequest) -> PermissionAnswer:
        asked.append(question)
        return await permissions.reject_all(question)

    async with official_v2.connected(on_permission=reject, on_elicitation=fill_in) as client:
        session = await client.new_session(place)
        assert (await session.prompt("story")).stop_reason == "end_turn"
        assert session.transcript.tool_calls[STORY["edit"]["id"]].status == "failed"
    (question,) = asked
    assert question.title == "May the notes be changed?"
    assert isinstance(question.subject, ToolCallSubject)
    assert question.subject.call.id == STORY["edit"]["id"]


async def test_a_command_can_be_what_permission_is_asked_for(official_v2: OfficialAgent, place: Path):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    subject = {"type": "command", "command": "make", "cwd": str(place)}
    async with official_v2.connected(on_permission=permissions.allow_kinds("execute")) as client:
        params = {"title": "Run make?", "description": "It builds.", "subject": subject, "options": options}
        answer = await ask(await client.new_session(place), "session/request_permission", params)
    assert answer == {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}


async def test_one_tool_call_is_cancelled_and_the_turn_goes_on(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected() as client:
        session = await client.new_session(place)
        reply = session.prompt("wait")
        async for change in reply:
            if isinstance(change, ToolCallChanged) and change.call.status == "in_progress":
                assert change.call.cancellable
                await session.cancel_tool_call(change.call.id)
        assert reply.stop_reason == "end_turn"
        assert session.transcript.tool_calls["call-wait"].status == "cancelled"
        await session.cancel_terminal("t")
        assert await seen(client, "tool_call/cancel", "terminal/cancel") == [
            {"sessionId": session.id, "toolCallId": "call-wait"},
            {"sessionId": session.id, "terminalId": "t"},
        ]


async def test_files_and_terminals_of_the_client_are_not_there(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected(workspace=place) as client:
        session = await client.new_session(place)
        for method, params in [
            ("fs/read_text_file", {"path": str(place / "a")}),
            ("terminal/create", {"command": "a"}),
        ]:
            answer = await ask(session, method, params)
            assert answer["error"] == {"code": -32601, "data": {"method": method}}


async def test_what_the_agent_does_not_take_is_not_sent(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected() as client:
        with pytest.raises(InvalidParams):
            await client.new_session(place, [SseServer(name="old", url="https://example.com/sse")])
        with pytest.raises(MethodNotFound):
            await client.fork_session("none", place)
        assert await seen(client, "session/new", "session/fork") == []


async def test_a_failed_turn_tells_its_error_in_the_idle_state(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected() as client:
        session = await client.new_session(place)
        reply = session.prompt("fail")
        with pytest.raises(RequestFailed, match="the model is gone"):
            await reply
        assert reply.stop_reason == "error"
        assert session.transcript.state.error == {"code": -32603, "message": "the model is gone"}


async def test_each_kind_of_update_is_told_and_kept(official_v2: OfficialAgent, place: Path):
    async with official_v2.connected() as client:
        session = await client.new_session(place)
        lines = await tell(session, [update for update, _ in UPDATES])
        left_open = "c in_progress [add /new.py delete /old.py move /to.py] [t]"  # closed with its turn
        assert lines == ["running", *(line for _, line in UPDATES), "idle end_turn", left_open]
        assert session.transcript.tool_calls["c"].ended_without_result
        check_kept(session)


def check_kept(session: Session) -> None:
    transcript = session.transcript
    call = transcript.tool_calls["c"]
    assert (call.title, call.name, call.cancellable, call.locations) == ("Change", "edit_file", True, [])
    assert call.content[0] == Diff(
        changes=[
            FileChange("add", "/new.py", file_type="text", mime_type="text/x-python"),
            FileChange("delete", "/old.py"),
            FileChange("move", "/to.py", old_path="/from.py"),
        ],
        patch=DiffPatch("git_patch", "diff --git a/new.py b/new.py\n"),
    )
    terminal = transcript.terminals["t"]
    assert (terminal.text, terminal.exit, terminal.size) == ("✓", Exit(signal="SIGKILL"), TerminalSize(80, 24))
    assert transcript.usage == Usage(7, 9, Cost(0.5, "EUR"))


async def test_work_in_the_background_is_told_while_the_session_is_idle(official_v2: OfficialAgent, place: Path):
    told: list[Any] = []
    background = [{"type": "terminal", "terminalId": "t"}, {"type": "tool_call", "toolCallId": "c"}]
    async with official_v2.connected(on_update=told.append) as client:
        session = await client.new_session(place)
        update = {"sessionUpdate": "state_update", "state": "idle", "background": background}
        await client.notify("_accord/tell", {"sessionId": session.id, "updates": [update]})
        while session.transcript.state.background is None:
            await client.request("_accord/echo")
        assert [(work.type, work.id) for work in session.transcript.state.background] == [
            ("terminal", "t"),
            ("tool_call", "c"),
        ]
    assert isinstance(told[0].update, StateChanged)


async def test_an_update_beyond_the_protocol_is_handed_on_unless_strictness_forbids_it(
    official_v2: OfficialAgent, place: Path
):
    async with official_v2.connected(strict=False) as client:
        session = await client.new_session(place)
        lines = await tell(session, [{"sessionUpdate": "_accord_weather", "wind": 3}])
        assert lines == ["running", "unknown _accord_weather", "idle end_turn"]
