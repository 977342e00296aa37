"""What was run or changed is told below the title of a tool call, wherever the agent tells it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.tool_input import remaining_action
from accord.session.entities import Diff, Exit, FileChange, Location, TerminalItem
from accord.session.updates import TerminalPatch, ToolCallPatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import GOOSE_OPTIONS, Turn, does, goose_shell, permitted

FIRST = "no terminal is attached, so whatever needs a permission is rejected (--permissions changes that)"


def copilot_shell(line: str) -> Turn:
    """The title is the model's description of what it does."""

    async def turn(agent: ScriptedAgent) -> bool:
        raw = {"command": line, "description": "scripted description", "shellId": "0"}
        call = {"toolCallId": "t1", "title": "scripted description", "kind": "execute"}
        agent.update("tool_call", status="pending", rawInput=raw, **call)
        agent.update("tool_call_update", toolCallId="t1", status="in_progress")
        agent.update("tool_call_update", toolCallId="t1", status="completed", rawOutput={"content": "hi"})
        return True

    return turn


def copilot_edit(path: Path) -> Turn:
    async def turn(agent: ScriptedAgent) -> bool:
        call = {"toolCallId": "t2", "title": "scripted description", "kind": "edit", "status": "pending"}
        agent.update("tool_call", rawInput={"path": str(path)}, locations=[{"path": str(path)}], **call)
        diff = {"type": "diff", "path": str(path), "oldText": "a\n", "newText": "b\n"}
        agent.update("tool_call_update", toolCallId="t2", status="completed", content=[diff])
        return True

    return turn


async def printed(typed: Any, *turns: Turn, words: tuple[str, ...] = ()) -> list[str]:
    agent = does(ScriptedAgent(1), *turns)
    async with program(agent) as command:
        finished = await typed("run", *words, "Hi", "--", *command.args)
    return [line for line in finished.err.splitlines() if line != FIRST]


async def test_the_command_is_told_below_the_title(typed):
    assert await printed(typed, copilot_shell("echo hi")) == [
        "→ scripted description",
        "    $ echo hi",
        "✓ scripted description",
    ]


async def test_the_lines_of_a_command_are_told_and_control_no_terminal(typed):
    line = "echo one &&\necho \x1b[2Jtwo" + "\nmore" * 20
    told = await printed(typed, copilot_shell(line))
    assert told[1:3] == ["    $ echo one &&", "      echo ␛[2Jtwo"]
    assert told[-2:] == ["      … and 12 lines more", "✓ scripted description"]


async def test_the_files_are_told_below_the_title(typed, project):
    assert await printed(typed, copilot_edit(project / "notes.md")) == [
        "→ scripted description",
        "    notes.md",
        "✓ scripted description",
    ]


async def test_what_the_title_tells_is_not_told_again(typed, project):
    async def turn(agent: ScriptedAgent) -> bool:
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("1", "`make   all`", {"rawInput": {"command": "make all"}}),
            ("2", "Read notes.md", {"locations": [{"path": str(project / "notes.md"), "line": 3}]}),
        ]
        for id, title, more in calls:
            agent.update("tool_call", toolCallId=id, title=title, status="completed", **more)
        return True

    assert await printed(typed, turn) == ["✓ `make all`", "✓ Read notes.md"]


async def test_what_becomes_known_later_is_told_then(typed):
    """goose begins a call by the name of its tool alone, and tells the command with its question."""

    async def turn(agent: ScriptedAgent) -> bool:
        agent.update("tool_call", toolCallId="g", title="developer: shell", status="pending")
        agent.update("tool_call", toolCallId="h", title="developer: shell", status="pending")
        agent.update("tool_call_update", toolCallId="h", rawInput={"command": "echo next"})
        agent.update("tool_call_update", toolCallId="g", rawInput={"command": "echo hi"})
        agent.update("tool_call_update", toolCallId="g", rawInput={"command": "echo hi"}, status="in_progress")
        agent.update("tool_call_update", toolCallId="h", status="completed")
        agent.update("tool_call_update", toolCallId="g", status="completed", locations=[{"path": "/etc/passwd"}])
        return True

    assert await printed(typed, turn) == [
        "→ developer: shell",
        "→ developer: shell",
        "    $ echo next",
        "→ developer: shell",
        "    $ echo hi",
        "✓ developer: shell",
        "✓ developer: shell",
    ]


async def test_a_command_that_runs_here_is_told_once_when_it_begins(typed, project):
    told = await printed(typed, goose_shell("echo hi", project), words=("--permissions", "allow-all"))
    assert [line.strip() for line in told].count("$ echo hi") == 1
    assert told[-2:] == ["$ echo hi: exit 0", "✓ developer: shell"]


async def test_a_decision_tells_what_it_was_about(typed):
    async def turn(agent: ScriptedAgent) -> bool:
        call = {"toolCallId": "t", "title": "scripted description", "kind": "execute"}
        return await permitted(agent, {**call, "rawInput": {"command": ["rm", "a b"]}}, GOOSE_OPTIONS)

    told = await printed(typed, turn)
    assert "    $ rm 'a b'" in told
    assert told.count("    $ rm 'a b'") == 1
    agent = does(ScriptedAgent(1), turn)
    async with program(agent) as command:
        events = await typed("run", "--json", "Hi", "--", *command.args)
    decided = events.event("permission")
    assert (decided["title"], decided["command"], decided["files"]) == (
        "scripted description (execute)",
        "rm 'a b'",
        [],
    )


async def test_events_tell_the_files_that_a_decision_was_about(typed, project):
    async def turn(agent: ScriptedAgent) -> bool:
        diff = {"type": "diff", "path": str(project / "a.py"), "newText": "x\n"}
        call = {"toolCallId": "t", "title": "scripted description", "kind": "edit", "content": [diff]}
        return await permitted(agent, {**call, "locations": [{"path": str(project / "b.py")}]}, GOOSE_OPTIONS)

    async with program(does(ScriptedAgent(1), turn)) as command:
        events = await typed("run", "--json", "Hi", "--", *command.args)
    assert events.event("permission")["files"] == [str(project / "a.py"), str(project / "b.py")]


async def test_a_file_that_only_the_arguments_name_is_told(typed, project):
    """kimi-code asks for a write by the name of its tool; before it, it has told the arguments."""
    file = project / "a.py"

    async def turn(agent: ScriptedAgent) -> bool:
        call = {"toolCallId": "t", "title": "Write", "kind": "edit"}
        agent.update("tool_call", status="pending", **call)
        agent.update("tool_call_update", toolCallId="t", rawInput={"path": str(file), "content": "x\n"})
        return await permitted(agent, {"toolCallId": "t", "title": "Write"}, GOOSE_OPTIONS)

    told = await printed(typed, turn)
    assert told[:2] == ["→ Write", "    a.py"]
    async with program(does(ScriptedAgent(1), turn)) as command:
        events = await typed("run", "--json", "Hi", "--", *command.args)
    assert events.event("permission")["files"] == [str(file)]


async def test_codex_in_v2_tells_a_command_in_a_terminal(typed, project):
    agent = ScriptedAgent(2)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        raw = {"command": ["bash", "-lc", "echo hi"], "cwd": str(project)}
        agent.tell(ToolCallPatch(id="c", title="scripted description", kind="execute", raw_input=raw, creates=True))
        agent.tell(TerminalPatch(id="t", command="echo hi", cwd=str(project)))
        agent.tell(ToolCallPatch(id="c", content=[TerminalItem(terminal_id="t")]))
        agent.tell(TerminalPatch(id="t", exit=Exit(code=0)))
        agent.tell(ToolCallPatch(id="c", status="completed"))
        agent.say("Over.")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.err.splitlines()[1:] == [
        "→ scripted description",
        "    $ bash -lc 'echo hi'",
        "$ echo hi: exit 0",
        "✓ scripted description",
    ]


@pytest.mark.parametrize(
    ("call", "title", "told"),
    [
        (ToolCallPatch(id="c", raw_input={"command": "ls"}), "Look", ("ls", [])),
        (ToolCallPatch(id="c", raw_input={"command": "ls"}, locations=[Location(path="/w")]), "Look", ("ls", [])),
        (ToolCallPatch(id="c", raw_input={"command": "ls\n-l"}), "Run ls  -l now", (None, [])),
        (ToolCallPatch(id="c", locations=[Location(path="/w/a"), Location(path="/w/a", line=2)]), "x", (None, ["a"])),
        (
            ToolCallPatch(
                id="c",
                content=[Diff(changes=[FileChange(operation="add", path="b"), FileChange(operation="add", path="/c")])],
                locations=[Location(path="/w/b")],
            ),
            "Edit",
            (None, ["b", "/c"]),
        ),
        (ToolCallPatch(id="c", kind="edit", raw_input={"path": "/w/a", "content": "x"}), "Write", (None, ["a"])),
        (ToolCallPatch(id="c", kind="read", raw_input={"file_path": "b.py"}), "Read", (None, ["b.py"])),
        (ToolCallPatch(id="c", kind="other", raw_input={"path": "a", "content": "x"}), "write", (None, ["a"])),
        (ToolCallPatch(id="c", kind="other", raw_input={"path": "a"}), "frobnicate", (None, [])),
        (ToolCallPatch(id="c", kind="search", raw_input={"path": ".", "pattern": "x"}), "Grep", (None, [])),
        (ToolCallPatch(id="c", kind="edit", raw_input={"path": "a", "filePath": "b"}), "Write", (None, [])),
        (
            ToolCallPatch(id="c", kind="edit", raw_input={"path": "b"}, locations=[Location(path="a")]),
            "x",
            (None, ["a"]),
        ),
        (ToolCallPatch(id="c"), "Look", (None, [])),
        (
            ToolCallPatch(
                id="c", kind="edit", raw_input={"changes": {"/w/a.py": {"add": {}}, "/x/b.py": {"delete": {}}}}
            ),
            "Edit",
            (None, ["a.py", "/x/b.py"]),
        ),
        (
            ToolCallPatch(
                id="c", kind="edit", raw_input={"edits": [{"file_path": "/w/a.py"}, {"path": "b.py"}, {"n": 1}]}
            ),
            "Edit b.py",
            (None, ["a.py"]),
        ),
        (ToolCallPatch(id="c", kind="edit", raw_input={"changes": {"summary": {"of": "it"}}}), "Edit", (None, [])),
        (ToolCallPatch(id="c", kind="other", raw_input={"changes": {"/w/a.py": {}}}), "Look", (None, [])),
        (
            ToolCallPatch(id="c", kind="move", raw_input={"source": "/w/a", "destination": "/w/b"}),
            "Move",
            (None, ["a", "b"]),
        ),
        (ToolCallPatch(id="c", kind="move", raw_input={"from": "/w/a", "to": 5}), "Move", (None, [])),
    ],
)
def test_the_command_or_the_files_are_told_as_far_as_the_title_does_not(call, title, told):
    assert remaining_action(call, title, "/w") == told


if sys.platform != "win32":
    from tests.apps.console.terminal import at_terminal

    async def test_line_by_line_it_is_told_in_words(project):
        agent = does(ScriptedAgent(1), copilot_shell("echo hi"), copilot_edit(project / "notes.md"))
        async with (
            program(agent) as command,
            at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, accord),
        ):
            await terminal.sees("You: ")
            terminal.type("Hi\n")
            await terminal.sees("Begun: scripted description\r\n    Command: echo hi\r\nDone: scripted description\r\n")
            await terminal.sees("Begun: scripted description\r\n    File: notes.md\r\nDone: scripted description\r\n")
            await terminal.sees("You: ")
            terminal.type("/quit\n")
            assert await accord.wait() == 0
