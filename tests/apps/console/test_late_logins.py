"""`accord run` with agents that want a login only when they are prompted, as Claude Code by its adapter does."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program


def locked(version: Any) -> ScriptedAgent:
    """It opens sessions for anybody, and answers whoever is logged in."""
    way = {"id": "key", "name": "A key"} if version == 1 else {"type": "agent", "methodId": "key", "name": "A key"}
    agent = ScriptedAgent(version, authMethods=[way])
    agent.on("session/prompt", lambda asked: asked.fail(-32000, "Authentication required"))

    def log_in(asked: Any) -> Any:
        agent.on("session/prompt", agent.reply("In"))
        return {}

    agent.on("auth/login" if version == 2 else "authenticate", log_in)
    return agent


async def test_the_way_that_was_named_is_gone(typed, version):
    agent = locked(version)
    async with program(agent) as command:
        finished = await typed("run", "--json", "--login", "key", "Hi", "--", *command.args)
    assert finished.status == 0, finished.err
    assert [event["text"] for event in finished.events if event["type"] == "text"] == ["In"]
    assert len(agent.calls("session/new")) == 1


async def test_without_a_way_it_is_told_which_there_are(typed, version):
    agent = locked(version)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.LOGIN_NEEDED
    assert "A key (key)" in finished.err
    assert len(agent.calls("session/prompt")) == 1


AGENT = """
import json, os, sys
state, takes_up = sys.argv[1:3]
if "--login" in sys.argv:
    print("password? ", end="", flush=True)
    open(state, "w").write(sys.stdin.readline())
    sys.exit(0)
for line in sys.stdin:
    asked = json.loads(line)
    answer = {}
    match asked["method"]:
        case "initialize":
            way = {"id": "t", "name": "Here", "type": "terminal", "args": ["--login"]}
            can = {"sessionCapabilities": {"resume": {}}} if takes_up == "yes" else {}
            answer["result"] = {"protocolVersion": 1, "agentCapabilities": can, "authMethods": [way]}
        case "session/new":
            answer["result"] = {"sessionId": "after" if os.path.exists(state) else "before"}
        case "session/prompt" if not os.path.exists(state):
            answer["error"] = {"code": -32000, "message": "Authentication required"}
        case "session/prompt":
            told = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "In"}}
            told = {"sessionId": asked["params"]["sessionId"], "update": told}
            print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": told}), flush=True)
            open(state, "a").write(asked["params"]["sessionId"])
            answer["result"] = {"stopReason": "end_turn"}
        case _:
            answer["result"] = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("takes_up", "session"), [("yes", "before"), ("no", "after")])
async def test_after_a_login_in_the_terminal_the_session_goes_on(project, tmp_path, takes_up, session):
    from tests.apps.console.terminal import at_terminal  # there is no such thing on Windows

    (tmp_path / "agent.py").write_text(AGENT)
    words = ("run", "Hi", "--", sys.executable, tmp_path / "agent.py", tmp_path / "key", takes_up)
    async with at_terminal(*words, cwd=project) as (terminal, run):
        await terminal.sees("Enter for none: ")
        terminal.type("1\n")
        await terminal.sees("password? ")
        terminal.type("sesame\n")
        assert await run.wait() == 0
    assert (tmp_path / "key").read_text() == f"sesame\n{session}"
