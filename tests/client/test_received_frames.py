"""A client that receives an agent's frames, member by member: what becomes of updates, and what requests are answered."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord import Client, ToolCallChanged, permissions
from accord.client.workspace.workspace import Workspace
from accord.session.content import Text
from accord.session.entities import ContentItem, TerminalItem
from accord.testing import ScriptedAgent
from tests.client.words import CWD
from tests.peer.joined import until

CREATES = {1: "tool_call", 2: "tool_call_update", "2-draft": "tool_call_update"}


def text_item(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


async def turn_with(agent: ScriptedAgent, client: Client, *updates: dict[str, Any]) -> list[Any]:
    """The changes of a turn in which the agent sends these updates."""

    @agent.on("session/prompt")
    def report(asked: Any) -> None:
        agent.begin(asked)
        for update in updates:
            agent.update(dict(update))
        agent.finish(asked)

    session = await client.new_session(CWD)
    reply = session.prompt("go")
    return [change async for change in reply]


@pytest.mark.requirement("TOOL-04", "TOOL-09", "TOOL-10", "TOOL-11", "TOOL-12", "TOOL-34")
async def test_reports_about_a_tool_call_are_joined_by_its_id_and_leave_other_calls_alone(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        changes = await turn_with(
            agent,
            client,
            {
                "sessionUpdate": CREATES[version],
                "toolCallId": "a",
                "title": "First",
                "kind": "read",
                "status": "pending",
            },
            {
                "sessionUpdate": CREATES[version],
                "toolCallId": "b",
                "title": "Second",
                "kind": "edit",
                "status": "pending",
            },
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "a",
                "content": [text_item("found")],
                "locations": [{"path": "/work/a.py", "line": 3}],
                "rawInput": {"pattern": "x"},
                "rawOutput": {"matches": 2},
                "status": "completed",
            },
        )
    last = {change.call.id: change.call for change in changes if isinstance(change, ToolCallChanged)}
    first, second = last["a"], last["b"]
    assert (first.title, first.kind, first.status) == ("First", "read", "completed")
    (item,) = first.content
    assert isinstance(item, ContentItem)
    assert item.content == Text("found")
    assert [(place.path, place.line) for place in first.locations] == [("/work/a.py", 3)]
    assert (first.raw_input, first.raw_output) == ({"pattern": "x"}, {"matches": 2})
    assert (second.title, list(second.content), second.locations, second.raw_input) == ("Second", [], [], None)


@pytest.mark.requirement("TOOL-40", "TOOL-10")
async def test_whoever_follows_the_agent_is_told_each_place_as_soon_as_it_is_reported(version):
    agent = ScriptedAgent(version)
    async with Client(agent, version=version) as client:
        changes = await turn_with(
            agent,
            client,
            {"sessionUpdate": CREATES[version], "toolCallId": "a", "title": "Look", "locations": [{"path": "/w/a.py"}]},
            {"sessionUpdate": "tool_call_update", "toolCallId": "a", "locations": [{"path": "/w/b.py", "line": 7}]},
        )
    followed = [place for change in changes if isinstance(change, ToolCallChanged) for place in change.call.locations]
    assert [(place.path, place.line) for place in followed][:2] == [("/w/a.py", None), ("/w/b.py", 7)]


@pytest.mark.requirement("UPDATE-12", "UPDATE-09", "PLAN-04", "PLAN-05", "PLAN-06", "MODE-05", "MODE-06", "MODE-07")
async def test_chunks_plans_tool_calls_commands_and_the_mode_are_all_in_the_transcript():
    agent = ScriptedAgent(1)
    modes = [{"id": "ask", "name": "Ask", "description": "Asks first"}, {"id": "code", "name": "Code"}]
    agent.on("session/new", {"sessionId": "s", "modes": {"currentModeId": "ask", "availableModes": modes}})
    entry = {"content": "Read it", "priority": "high", "status": "in_progress"}
    commands = [{"name": "review", "description": "Look again", "input": {"hint": "which file"}}]
    async with Client(agent, version=1) as client:
        await turn_with(
            agent,
            client,
            {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}},
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hel"}},
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "lo"}},
            {"sessionUpdate": "plan", "entries": [entry, {**entry, "content": "Edit it", "priority": "low"}]},
            {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Look"},
            {"sessionUpdate": "available_commands_update", "availableCommands": commands},
            {"sessionUpdate": "current_mode_update", "currentModeId": "code"},
        )
        transcript = client.sessions[0].transcript
    said = [(message.role, message.text) for message in transcript.messages.values()]
    assert said == [("user", "go"), ("thought", "hm"), ("agent", "Hello")]
    (plan,) = transcript.plans.values()
    assert [(each.content, each.priority, each.status) for each in plan.entries] == [
        ("Read it", "high", "in_progress"),
        ("Edit it", "low", "in_progress"),
    ]
    assert [(command.name, command.description, command.hint) for command in transcript.commands] == [
        ("review", "Look again", "which file")
    ]
    assert transcript.modes is not None
    assert transcript.modes.current == "code"
    assert [(mode.id, mode.name, mode.description) for mode in transcript.modes.available] == [
        ("ask", "Ask", "Asks first"),
        ("code", "Code", None),
    ]


@pytest.mark.bad_frames
@pytest.mark.parametrize("member", ["content", "priority", "status"])
@pytest.mark.requirement("PLAN-04", "PLAN-05", "PLAN-06")
async def test_a_strict_client_refuses_a_plan_entry_without(member):
    agent = ScriptedAgent(1)
    entry = {"content": "Read it", "priority": "high", "status": "pending"}
    async with Client(agent, version=1, strict=True) as client:
        await turn_with(
            agent,
            client,
            {"sessionUpdate": "plan", "entries": [{name: value for name, value in entry.items() if name != member}]},
        )
        assert client.sessions[0].transcript.plans == {}


@pytest.mark.requirement("AMB-40")
async def test_updates_that_come_before_the_answer_to_session_new_are_kept_and_strangers_are_dropped(version):
    agent = ScriptedAgent(version)

    @agent.on("session/new")
    def opened(asked: Any) -> None:
        agent.say("early", session_id="s-1", messageId="m")
        agent.say("stranger", session_id="s-2", messageId="m")
        asked.answer({"sessionId": "s-1"})

    async with Client(agent, version=version) as client:
        session = await client.new_session(CWD)
        agent.say("late", session_id="s-2", messageId="m")
        agent.say(" bird", session_id="s-1", messageId="m")
        await until(lambda: any("bird" in message.text for message in session.transcript.messages.values()))
        assert [message.text for message in session.transcript.messages.values()] == ["early bird"]
        assert client.sessions == [session]


# Files and terminals, which v1 and the draft ask the client for


@pytest.mark.bad_frames
@pytest.mark.requirement("FS-04", "FS-05", "FS-10", "FS-11", "FS-12")
@pytest.mark.parametrize("method", ["fs/write_text_file", "fs/read_text_file"])
async def test_a_file_is_not_touched_without_a_session_and_an_absolute_path(tmp_path: Path, method):
    (tmp_path / "notes.txt").write_text("as it was")
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, workspace=tmp_path) as client:
        session = await client.new_session(tmp_path)
        text = {"content": "new"} if method == "fs/write_text_file" else {}
        good = {"sessionId": session.id, "path": str(tmp_path / "notes.txt"), **text}
        for wrong in (
            {name: value for name, value in good.items() if name != "sessionId"},
            {name: value for name, value in good.items() if name != "path"},
            {**good, "path": "notes.txt"},
            {**good, "sessionId": 5},
        ):
            answer = await agent.ask(method, wrong)
            assert answer.error["code"] == -32602, wrong
        assert (await agent.ask(method, {**good, "sessionId": "another"})).error is not None
        assert (tmp_path / "notes.txt").read_text() == "as it was"
        assert (await agent.ask(method, good)).error is None


PROGRAM = "import os, sys; print(sys.argv[1:], os.environ['COLOUR'])"


@pytest.mark.requirement("TERM-06", "TERM-07", "TERM-20", "TERM-21", "TERM-31", "AMB-48", "AMB-64")
async def test_a_command_gets_its_arguments_and_variables_and_its_output_is_answered(tmp_path: Path):
    agent = ScriptedAgent(1)
    async with Client(agent, version=1, workspace=tmp_path) as client:
        session = await client.new_session(tmp_path)
        command = {
            "sessionId": session.id,
            "command": sys.executable,
            "args": ["-I", "-S", "-c", PROGRAM, "a b", "$c"],
            "env": [{"name": "COLOUR", "value": "no"}],
        }
        for limit, expected in [
            (None, {"output": "['a b', '$c'] no\n", "truncated": False}),
            (4, {"output": " no\n", "truncated": True}),
        ]:
            limited = {} if limit is None else {"outputByteLimit": limit}
            created = await agent.ask("terminal/create", {**command, **limited})
            terminal = {"sessionId": session.id, "terminalId": created.result["terminalId"]}
            assert isinstance(terminal["terminalId"], str)
            assert (await agent.ask("terminal/wait_for_exit", terminal)).result == {"exitCode": 0, "signal": None}
            answer = (await agent.ask("terminal/output", terminal)).result
            assert answer["exitStatus"] == {"exitCode": 0, "signal": None}
            assert {"output": answer["output"], "truncated": answer["truncated"]} == expected
            assert (await agent.ask("terminal/release", terminal)).error is None
            assert (await agent.ask("terminal/output", terminal)).error is not None


@pytest.mark.requirement("TERM-15", "TOOL-37", "TOOL-33", "AMB-48", "AMB-64")
async def test_a_terminal_shown_in_a_tool_call_is_read_while_its_command_runs(tmp_path: Path):
    agent = ScriptedAgent(1)
    workspace = Workspace(tmp_path)
    async with Client(agent, version=1, workspace=workspace) as client:
        session = await client.new_session(tmp_path)
        wait = "echo begun; until [ -e go ]; do sleep 0.01; done; echo done"
        command = {"sessionId": session.id, "command": "/bin/sh", "args": ["-c", wait], "cwd": str(tmp_path)}
        id = (await agent.ask("terminal/create", command)).result["terminalId"]
        reply = session.prompt("go")
        asked = await agent.next("session/prompt")
        item = {"type": "terminal", "terminalId": id}
        agent.update("tool_call", toolCallId="a", title="Run", status="in_progress", content=[item])
        await until(lambda: "a" in session.transcript.tool_calls)
        assert list(session.transcript.tool_calls["a"].content) == [TerminalItem(terminal_id=id)]
        await until(lambda: workspace.terminals[id].output == "begun\n")
        assert workspace.terminals[id].exit is None
        running = (await agent.ask("terminal/output", {"sessionId": session.id, "terminalId": id})).result
        assert running == {"output": "begun\n", "truncated": False}
        (tmp_path / "go").touch()
        await until(lambda: workspace.terminals[id].output == "begun\ndone\n")
        agent.finish(asked)
        await reply


@pytest.mark.requirement("PERM-03", "AMB-57")
@pytest.mark.parametrize("version", [1, "2-draft"])
async def test_a_question_that_names_only_the_call_is_asked_with_all_that_is_known_of_it(version):
    agent = ScriptedAgent(version)
    asked: list[Any] = []

    async def policy(request: Any) -> Any:
        asked.append(request)
        return await permissions.allow_all(request)

    @agent.on("session/prompt")
    async def work(prompt: Any) -> None:
        agent.begin(prompt)
        known = {"title": "Delete a.py", "kind": "delete", "rawInput": {"path": "a.py"}, "content": [text_item("gone")]}
        agent.update({"sessionUpdate": CREATES[version], "toolCallId": "c", "status": "pending", **known})
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        question = {"sessionId": prompt.params["sessionId"], "toolCall": {"toolCallId": "c"}, "options": options}
        await agent.ask("session/request_permission", question)
        agent.finish(prompt)

    async with Client(agent, version=version, on_permission=policy) as client:
        session = await client.new_session(CWD)
        assert (await session.prompt("go")).stop_reason == "end_turn"
    (request,) = asked
    call = request.subject.call
    assert (request.title, call.id, call.kind) == ("Delete a.py", "c", "delete")
    assert (call.raw_input, list(call.content)) == ({"path": "a.py"}, [ContentItem(content=Text("gone"))])
