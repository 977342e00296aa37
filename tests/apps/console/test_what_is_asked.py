"""What a person at the terminal is asked about before it happens, and what everybody is told of it afterwards."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.dialects.negotiation import ProtocolVersion
from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.real_peers import jsdiff
from tests.apps.console.terminal import at_terminal


def through_the_client(agent: ScriptedAgent, directory: Any) -> Any:
    """A turn that writes a file and runs a command, and asks nobody itself."""

    async def answer(asked: Any) -> None:
        about = {"sessionId": agent.session_id}
        wrote = await agent.ask("fs/write_text_file", {**about, "path": f"{directory}/new.txt", "content": "hé\n"})
        ran = await agent.ask("terminal/create", {**about, "command": "touch", "args": ["ran.txt"]})
        if ran.error is None:
            await agent.ask("terminal/wait_for_exit", {**about, "terminalId": ran.result["terminalId"]})
        agent.say(f"{wrote.error is None} {ran.error is None}")
        agent.finish(asked)

    return answer


@pytest.mark.parametrize("answer", ["1", ""])
async def test_a_write_and_a_command_through_the_client_are_asked_for(project, answer):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", through_the_client(agent, project))
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees(f"May the agent Write {project}/new.txt (edit)?")
        await terminal.sees("+hé")
        await terminal.sees("1-3, or Enter for no: ")
        terminal.type(f"{answer}\n")
        await terminal.sees("May the agent run touch ran.txt in")
        await terminal.sees("  $ touch ran.txt")
        await terminal.sees("1-2, or Enter for no: ")
        terminal.type(f"{answer}\n")
        await terminal.sees(f"{bool(answer)} {bool(answer)}")
        assert await run.wait() == (ExitStatus.END_TURN if answer else ExitStatus.ALL_REJECTED)
    assert [(project / name).exists() for name in ("new.txt", "ran.txt")] == [bool(answer)] * 2


async def test_what_is_written_and_run_is_said_where_nobody_is_asked(typed, project):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", through_the_client(agent, project))
    async with program(agent) as command:
        words = ("run", "--permissions", "allow-all", "Hi", "--", *command.args)
        said = await typed(*words)
        told = await typed("run", "--json", *words[1:])
    assert (said.status, said.out) == (0, "True True\n")
    assert said.notes == [
        f"wrote {project}/new.txt: 4 bytes",
        f"allowed: run touch ran.txt in {project}",
        "$ touch ran.txt: exit 0",
    ]
    assert told.event("file_written") == {"type": "file_written", "path": f"{project}/new.txt", "size": 4}
    assert told.event("terminal")["command"] == "touch ran.txt"


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ("echo hello\nrm -rf precious", ["  $ echo hello", "    rm -rf precious"]),
        ("echo " + "a" * 1200 + " ; rm -rf precious", [" ; rm -rf precious"]),
    ],
    ids=["several lines", "a long one"],
)
@pytest.mark.parametrize("form", ["tool call", "command", "title"])
async def test_all_of_a_command_is_shown_before_the_answer(project, about, shown, form):
    version = 2 if form == "command" else 1
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        request: dict[str, Any] = {"sessionId": agent.session_id, "options": options}
        if form == "command":
            request |= {"title": "Say hello", "subject": {"type": "command", "command": about, "cwd": str(project)}}
        elif form == "title":
            request |= {"toolCall": {"toolCallId": "c", "title": about}}
        else:
            request |= {"toolCall": {"toolCallId": "c", "title": "Say hello", "rawInput": {"command": about}}}
        await agent.ask("session/request_permission", request)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("May the agent ")
        await terminal.sees("?\r\n")
        for line in shown:
            await terminal.sees(line.replace("  $ ", "  title: ") if form == "title" else line)
        await terminal.sees("Enter for no: ")
        terminal.type("\n")
        assert await run.wait() == ExitStatus.ALL_REJECTED


DIFF = {"type": "diff", "path": "/a.txt", "oldText": "old\n", "newText": "new\n"}


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        (
            {"rawInput": {"path": "/etc/shadow", "mode": "delete"}},
            ["  input:", '    "path": "/etc/shadow"', '    "mode": "delete"'],
        ),
        ({"rawInput": {"cmd": ["rm", "a b"], "env": {"A": "b"}}}, ["  $ rm 'a b'", "  input:", '    "env": {"A":"b"}']),
        ({"rawInput": {"command": "ls", "cwd": "/etc"}}, ["  $ ls", "  input:", '    "cwd": "/etc"']),
        ({"rawInput": {"url": "x" * 5000 + "\u202e"}}, ["  input:", '    "url": "' + "x" * 5000 + '<U+202E>"']),
        ({"rawInput": "rm -rf ~\nall of it"}, ["  input:", "    rm -rf ~", "    all of it"]),
        (
            {"content": [{"type": "content", "content": {"type": "text", "text": "One\n\x1b[2Jtwo"}}]},
            ["  One", "  ␛[2Jtwo"],
        ),
        ({"content": [{"type": "terminal", "terminalId": "t-1"}]}, ["  terminal t-1"]),
        ({"content": [{"type": "_new", "deletes": "/"}]}, ["  _new:", '    "type": "_new"', '    "deletes": "/"']),
        (
            {"content": [DIFF], "rawInput": {"path": "/a.txt", "new_text": "new", "old_text": "another"}},
            ["  modify /a.txt", "-old", "+new", "  input:", '    "old_text": "another"'],
        ),
    ],
    ids=["input", "words", "directory", "long", "text input", "text", "terminal", "unknown item", "diff"],
)
@pytest.mark.parametrize("way", ["run", "--plain"])
async def test_all_that_a_tool_is_given_is_shown_before_the_answer(project, monkeypatch, what, shown, way):
    monkeypatch.delenv("ACCORD_STRICT")
    call = {"toolCallId": "c", "title": "Use the tool", "kind": "other", **what}
    told = await asked_about(project, {"toolCall": call}, 1, way)
    assert told[0] == "Use the tool (other)?"
    assert [line for line in told[1:] if not line.startswith(("diff --git", "---", "+++", "@@"))] == shown


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        (
            {
                "subject": {
                    "type": "tool_call",
                    "toolCall": {"toolCallId": "c", "title": "Delete all", "name": "remove"},
                }
            },
            ["Look around (other)?", "  tool call: Delete all", "  tool: remove"],
        ),
        (
            {"subject": {"type": "_moon", "target": "far side"}},
            ["Look around?", "  _moon:", '    "type": "_moon"', '    "target": "far side"'],
        ),
        (
            {"subject": {"type": "command", "command": "a" * 500, "cwd": "/etc"}},
            [f"run {'a' * 395}…?", "  title: Look around", f"  $ {'a' * 500}", "  in /etc"],
        ),
        (
            {
                "subject": {
                    "type": "tool_call",
                    "toolCall": {
                        "toolCallId": "c",
                        "content": [
                            {"type": "diff", "changes": [{"operation": "move", "path": "/there", "oldPath": "/here"}]}
                        ],
                    },
                }
            },
            ["Look around (other)?", "  move /here → /there"],
        ),
    ],
    ids=["names", "unknown subject", "command", "move"],
)
async def test_a_title_of_the_question_hides_nothing(project, monkeypatch, about, shown):
    monkeypatch.delenv("ACCORD_STRICT")
    assert await asked_about(project, {"title": "Look around", **about}, 2, "run") == shown


async def asked_about(project: Any, about: dict[str, Any], version: ProtocolVersion, way: str) -> list[str]:
    """What it says between "May the agent" and the answers."""
    agent = ScriptedAgent(version)

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        await agent.ask("session/request_permission", {"sessionId": agent.session_id, "options": options, **about})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    words = ("run", "Hi") if way == "run" else (way,)
    async with program(agent) as command, at_terminal(*words, "--", *command.args, cwd=project) as (terminal, accord):
        if way != "run":
            await terminal.sees("You: ")
            terminal.type("Hi\n")
        await terminal.sees("May the agent ")
        told = await terminal.sees("\r\n  1  Yes")
        await terminal.sees("Enter for no: ")
        terminal.type("\n")
        if way != "run":
            await terminal.sees("You: ")
            terminal.type("/quit\n")
        assert await accord.wait() == (ExitStatus.ALL_REJECTED if way == "run" else 0)
    return told.split("\r\n")


def test_nothing_of_the_screen_is_needed_to_ask_in_lines():
    loaded = "import sys, accord.apps.console.run.one_prompt, accord.apps.console.line_mode; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert {"rich", "textual"}.isdisjoint(finished.stdout.split())


TEXTS = [{"type": "content", "content": {"type": "text", "text": "Some words about it"}}]


@pytest.mark.parametrize("way", ["run", "--plain"])
async def test_the_diff_comes_first_and_input_that_only_repeats_it_is_left_out(project, way):
    """opencode and kilo: the raw input is the path and the patch once more."""
    path, old, new = project / "notes.md", "# Notes\n\nBuy milk.\n", "# Notes\n\nBuy bread.\n"
    call = {
        "toolCallId": "c",
        "title": "notes.md",
        "kind": "edit",
        "locations": [{"path": str(path)}],
        "rawInput": {"filepath": str(path), "diff": jsdiff(path, old, new)},
        "content": [*TEXTS, {"type": "diff", "path": str(path), "oldText": old, "newText": new}],
    }
    told = await asked_about(project, {"toolCall": call}, 1, way)
    assert told[:2] == ["notes.md (edit)?", f"  modify {path}"]
    assert told[-3:] == ["-Buy milk.", "+Buy bread.", "  Some words about it"]


@pytest.mark.parametrize("way", ["run", "--plain"])
async def test_the_command_comes_first(project, way):
    raw = {"command": "make all", "timeout": 5}
    call = {"toolCallId": "c", "title": "Build", "name": "shell", "kind": "execute", "rawInput": raw, "content": TEXTS}
    told = await asked_about(project, {"toolCall": call}, 1, way)
    assert told[:3] == ["Build (execute)?", "  $ make all", "  tool: shell"]
    assert told[3:] == ["  Some words about it", "  input:", '    "timeout": 5']
