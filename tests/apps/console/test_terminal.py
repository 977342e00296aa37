"""`accord run` at a terminal: questions, logins, Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program
from tests.apps.console.test_run import asking

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal


@pytest.mark.parametrize(("typed_line", "answer"), [("1\n", "yes"), ("2\n", "no"), ("\n", "no"), ("9\n1\n", "yes")])
async def test_a_permission_is_asked_for(project, version, typed_line, answer):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", asking(agent))
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("May the agent Write ␛]0;a.py␇ (edit)?")
        await terminal.sees("1  Allow")
        for line in typed_line.splitlines(keepends=True):
            await terminal.sees("1-2, or Enter for no: ")
            terminal.type(line)
        await terminal.sees("allowed:" if answer == "yes" else "rejected:")
        await terminal.sees(answer)
        assert await run.wait() == (ExitStatus.END_TURN if answer == "yes" else ExitStatus.ALL_REJECTED)


async def test_the_diff_and_the_command_are_shown_before_the_answer(project):
    agent = ScriptedAgent(1)

    async def answer(asked: Any) -> None:
        diff = {"type": "diff", "path": "/a.py", "oldText": "old\n", "newText": "new\n"}
        call = {"toolCallId": "c", "title": "Do it", "content": [diff], "rawInput": {"command": ["rm", "a b"]}}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        about = {"sessionId": agent.session_id, "toolCall": {**call, "locations": [{"path": "/a.py", "line": 3}]}}
        await agent.ask("session/request_permission", {**about, "options": options})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("-old")
        await terminal.sees("+new")
        await terminal.sees("$ rm 'a b'")
        await terminal.sees("Enter for no: ")
        terminal.type("1\n")
        assert await run.wait() == 0


async def test_control_c_withdraws_the_question_and_cancels_the_turn(project, version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", asking(agent))
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("Enter for no: ")
        terminal.type("\x03")
        await agent.seen("session/cancel")
        await terminal.sees("stopping…")
        await terminal.sees("cancelled")
        assert await run.wait() == 130


async def test_a_form_is_asked_field_by_field(project, version):
    agent = ScriptedAgent(version)
    got: list[Any] = []

    async def answer(asked: Any) -> None:
        agent.begin(asked)
        fields = {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer", "minimum": 1},
            "color": {"type": "string", "enum": ["red", "blue"]},
            "sure": {"type": "boolean", "default": True},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
            "note": {"type": "string"},
        }
        schema = {"type": "object", "properties": fields, "required": ["name"]}
        about = {"sessionId": agent.session_id, "message": "Who \x1b[2Jare you?", "mode": "form"}
        got.append((await agent.ask("elicitation/create", {**about, "requestedSchema": schema})).result)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("The agent asks: Who ␛[2Jare you?")
        for question, line in [
            ("Your name (required)", ""),
            ("  required", "Ada"),
            ("age", "many"),
            ("must be an integer", "0"),
            ("must be at least 1", "36"),
            ("2  blue", "2"),
            ("y or n [True]", ""),
            ("numbers, with commas", "1, c"),
            ("note", ""),
        ]:
            await terminal.sees(question)
            await terminal.sees("> ")
            terminal.type(f"{line}\n")
        assert await run.wait() == 0
    content = {"name": "Ada", "age": 36, "color": "blue", "sure": True, "tags": ["a", "c"]}
    assert (got[0]["action"], got[0]["content"]) == ("accept", content)


@pytest.mark.parametrize(
    ("mode", "line", "action"), [("form", ".", "decline"), ("url", "", "accept"), ("url", "n", "decline")]
)
async def test_a_question_can_be_declined(project, mode, line, action):
    agent = ScriptedAgent(1)
    got: list[Any] = []

    async def answer(asked: Any) -> None:
        about: dict[str, Any] = {"sessionId": agent.session_id, "message": "Well?", "mode": mode}
        if mode == "form":
            about["requestedSchema"] = {"type": "object", "properties": {"x": {"type": "string"}}}
        else:
            about |= {"url": "https://example.org/\x1b[2J", "elicitationId": "e"}
        got.append((await agent.ask("elicitation/create", about)).result)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("> " if mode == "form" else "n declines: ")
        terminal.type(f"{line}\n")
        assert await run.wait() == 0
    assert got[0]["action"] == action


async def test_without_a_terminal_no_questions_are_offered(typed):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("ok"))
    async with program(agent) as command:
        await typed("run", "Hi", "--", *command.args)
    assert "elicitation" not in agent.calls("initialize")[0].params["clientCapabilities"]


async def test_a_login_is_chosen_at_the_terminal(project):
    agent = ScriptedAgent(1, authMethods=[{"id": "a", "name": "By app"}, {"id": "k", "name": "By key"}])
    agent.on("session/new", lambda asked: asked.fail(-32000, "Authentication required"))

    def log_in(asked: Any) -> Any:
        agent.on("session/new", {"sessionId": "s"})
        return {}

    agent.on("authenticate", log_in)
    agent.on("session/prompt", agent.reply("In"))
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("2  By key (k)")
        await terminal.sees("Enter for none: ")
        terminal.type("2\n")
        await terminal.sees("In")
        assert await run.wait() == 0
    assert agent.calls("authenticate")[0].params["methodId"] == "k"


LOGIN = """
import json, os, sys
state = sys.argv[1]
if "--login" in sys.argv:
    print("password? ", end="", flush=True)
    open(state, "w").write(sys.stdin.readline())
    sys.exit(0)
for line in sys.stdin:
    asked = json.loads(line)
    answer = {}
    if asked["method"] == "initialize":
        way = {"id": "t", "name": "Here", "type": "terminal", "args": ["--login"]}
        answer["result"] = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [way]}
    elif asked["method"] == "session/new" and not os.path.exists(state):
        answer["error"] = {"code": -32000, "message": "Authentication required"}
    elif asked["method"] == "session/new":
        answer["result"] = {"sessionId": "s"}
    else:
        told = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "In"}}
        told = {"sessionId": "s", "update": told}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": told}), flush=True)
        answer["result"] = {"stopReason": "end_turn"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_a_login_in_the_terminal_gets_what_is_typed(project, tmp_path):
    (tmp_path / "agent.py").write_text(LOGIN)
    words = ("run", "Hi", "--", sys.executable, tmp_path / "agent.py", tmp_path / "key")
    async with at_terminal(*words, cwd=project) as (terminal, run):
        await terminal.sees("1  Here (t, in the terminal)")
        await terminal.sees("Enter for none: ")
        terminal.type("1\n")
        await terminal.sees("password? ")
        terminal.type("sesame\n")
        assert await run.wait() == 0
    assert (tmp_path / "key").read_text() == "sesame\n"


async def test_what_was_typed_before_a_question_does_not_answer_it(project):
    agent = ScriptedAgent(1)
    typed_ahead = asyncio.Event()

    async def answer(asked: Any) -> None:
        agent.say("wait for it\n")
        await typed_ahead.wait()
        await asking(agent)(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("wait for it")
        terminal.type("1\n")
        await terminal.sees("1\r\n")  # the terminal has it
        typed_ahead.set()
        await terminal.sees("Enter for no: ")
        terminal.type("2\n")
        await terminal.sees("rejected:")
        assert await run.wait() == ExitStatus.ALL_REJECTED


async def test_the_answer_and_what_happens_meanwhile_keep_their_order(project):
    agent = ScriptedAgent(1)

    def answer(asked: Any) -> None:
        for number in range(30):
            agent.say(f"say {number}")
            agent.update("tool_call", toolCallId=str(number), title=f"do {number}", status="completed")
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        for number in range(30):
            await terminal.sees(f"say {number}\r\n")
            await terminal.sees(f"✓ do {number}\r\n")
        assert await run.wait() == 0


async def test_a_terminal_without_a_prompt_is_told_how_to_give_one(project):
    async with at_terminal("run", cwd=project) as (terminal, run):
        await terminal.sees('Give one: `accord run "')
        assert await run.wait() == 2
