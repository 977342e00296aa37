"""Agents that are not there, break down or misbehave: what happened is shown, and what to do."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from accord import Agent, AuthRequired, Turn
from accord.client.deadlines import Deadlines
from accord.client.target import Command
from accord.session.mcp_servers import HttpServer, StdioServer
from accord.testing import Noisy, ScriptedAgent, faulty
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.test_habits import COLOURED, REASONS


async def told(stage: Stage, *texts: str) -> None:
    """Wait until the conversation says so, however its lines are broken."""
    await stage.until(lambda: stage.app.conversation._canvas is not None)
    await stage.until(lambda: all(text in " ".join(stage.conversation.replace("▌ ", "").split()) for text in texts))


async def test_an_agent_that_is_not_there_is_named(tmp_path):
    async with opened(Command(["no-such-agent-anywhere"]), tmp_path, ready=False) as stage:
        await told(stage, "Can't start 'no-such-agent-anywhere'", "install it", "F5")
        await stage.send("Hello?")
        await stage.shows("1 Hello?")


async def test_an_agent_that_exits_at_once_tells_its_last_words(tmp_path):
    script = "import sys; print('\\x1b[31mno key set', file=sys.stderr); sys.exit(7)"
    async with opened(Command([sys.executable, "-c", script]), tmp_path, ready=False) as stage:
        await told(stage, "The agent 'tester' ended with exit code 7 before it said anything", "│ no key set", "F5")


async def test_an_agent_that_can_not_be_run_says_what_to_do(tmp_path):
    file = tmp_path / "agent"
    file.write_text("#!/bin/sh\n")
    async with opened(Command([str(file)]), tmp_path, ready=False) as stage:
        await told(stage, "not executable", "chmod +x", "F5")


async def test_an_agent_that_prints_and_ends_is_told_by_what_it_printed(tmp_path):
    script = "print('Welcome to Foo, type help')"
    async with opened(Command([sys.executable, "-c", script]), tmp_path, ready=False) as stage:
        await told(stage, "what it wrote to stdout is no ACP", "│ Welcome to Foo", "look for its flag for ACP", "F5")


async def test_a_program_that_prints_without_end_is_ended(tmp_path):
    async with opened(Command(["yes"], close_grace=0.1), tmp_path, ready=False) as stage:
        await told(stage, "The agent 'tester' prints something that is not ACP", "'y', 'y', 'y'", "F5")


async def test_an_agent_that_begins_to_print_garbage_in_a_turn_is_ended(tmp_path):
    agent = ScriptedAgent(1)

    def babble(asked: Any) -> None:
        for _ in range(1100):
            agent.send(b"DEBUG: tick")

    agent.on("session/prompt", babble)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await told(
            stage, "prints something that is not ACP", "'DEBUG: tick'", "F5 restarts the agent with this session"
        )


async def test_what_is_too_long_to_be_taken_is_told(tmp_path):
    script = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answers = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
    if asked.get("method") == "session/prompt":
        print(json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"x": "x" * 5000}}))
    if "id" in asked:
        answer = answers.get(asked.get("method"), {"stopReason": "end_turn"})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
    command = Command([sys.executable, "-c", script], frame_limit=2000)
    async with opened(command, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.shows("in one message, which was skipped")
        await stage.idle()


async def test_a_flood_on_stderr_keeps_no_key_waiting(tmp_path):
    script = "import sys\nwhile True: sys.stderr.write('noise ' * 100 + '\\n')"
    async with opened(Command([sys.executable, "-c", script], close_grace=0.1), tmp_path, ready=False) as stage:
        await stage.shows("starting…", ": noise noise")
        await stage.press("x")
        assert stage.prompt == "x"


@pytest.mark.parametrize("only", [1, 2])
async def test_an_agent_of_one_version_is_understood(tmp_path, only):
    agent = ScriptedAgent(only)
    agent.on("session/prompt", agent.reply("Hello"))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Hi")
        await stage.shows("Hello")


async def test_an_agent_of_a_version_that_nobody_has_is_told(tmp_path):
    async with opened(ScriptedAgent(2, protocolVersion=7), tmp_path, ready=False) as stage:
        await told(stage, "speaks another version of the protocol", "accord speaks v1 and v2")


async def test_an_agent_that_dies_while_a_session_is_opened(tmp_path, version):
    agent = ScriptedAgent(version)
    agent.on("session/new", lambda asked: agent.die(3, "no disk"))
    async with opened(agent, tmp_path, version=version, ready=False) as stage:
        await told(stage, "is gone while opening a session", "F5")


@pytest.mark.parametrize(
    ("can", "says"),
    [
        ({"loadSession": True}, "restarting the agent"),
        ({"sessionCapabilities": {"resume": {}}}, "restarting the agent"),
        ({}, "this agent cannot reopen sessions"),
    ],
    ids=["load", "resume", "neither"],
)
async def test_an_agent_that_dies_in_a_turn_is_started_again_with_its_session(tmp_path, can, says):
    agent = ScriptedAgent(1, agentCapabilities=can)

    def die(asked: Any) -> None:
        agent.say("Let me")
        agent.die(7, "out of coffee")

    agent.on("session/prompt", die)
    agent.on("session/load", {})
    agent.on("session/resume", {})
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Hi")
        await told(stage, "is gone while answering", "exit code 7", "│ out of coffee", "F5 restarts the agent")
        await stage.send("Still there?")
        await stage.shows("1 Still there?")
        agent.on("session/prompt", agent.reply("Here again"))
        await stage.press("f5")
        await stage.shows("Here again", says)
        assert "out of coffee" in stage.conversation, "what was there stays, where the agent tells no history"
        assert len(agent.calls("session/load")) + len(agent.calls("session/resume")) == bool(can)


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        ((400, "The model said no", None), "The agent returned an error: The model said no (400)"),
        ((-32603, "Internal error", {"advice": "Set KEY"}), "advice: Set KEY"),
        ((-32029, "Slow down", {"reason": "rate_limited", "retryAfter": 5}), "Rate limit exceeded: Slow down"),
    ],
    ids=["odd code", "advice", "rate limit"],
)
async def test_a_failed_model_call_is_shown_as_what_it_is_and_the_session_lives(tmp_path, version, failure, shown):
    """FN-94: an error with an odd code."""
    agent = ScriptedAgent(version)
    agent.on("session/prompt", lambda asked: asked.fail(*failure), agent.reply("Better now"))
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Hi")
        await stage.shows(shown)
        await stage.send("Again")
        await stage.shows("Better now")


@pytest.mark.parametrize("data", REASONS, ids=str)
@pytest.mark.parametrize("method", ["session/new", "session/prompt"])
@pytest.mark.parametrize("code", [-32603, -32000])
async def test_the_reason_in_the_data_of_an_error_is_told_whatever_its_shape(tmp_path, data, method, code):
    """FN-107: on the screen, and in what is copied from it."""
    agent = ScriptedAgent(1)
    agent.on(method, lambda asked: asked.fail(code, "Something broke", data))
    async with opened(agent, tmp_path, version=1, ready=method != "session/new") as stage:
        await stage.send("Hi")
        await told(stage, "Something broke", "No key for xai")
        copied = "\n".join(block.plain() for block in stage.tab.conversation.blocks)
        assert "No key for xai" in copied
        assert not set("\x1b␛") & set(copied + stage.conversation)


async def test_of_long_details_the_beginning_is_shown(tmp_path):
    agent = ScriptedAgent(1)
    data = {"stack": "\n".join(f"at line {number}" for number in range(100)), "message": "No key for xai"}
    agent.on("session/prompt", lambda asked: asked.fail(-32603, "Internal error", data))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Hi")
        await told(stage, "No key for xai", "at line 0", "… and 89 more lines")


async def test_colours_and_other_sequences_on_stderr_are_left_out(tmp_path):
    script = f"import sys; sys.stderr.write({COLOURED!r}); sys.exit(7)"
    async with opened(Command([sys.executable, "-c", script]), tmp_path, ready=False) as stage:
        await told(stage, "│ KeyError: MODEL", "│ 99%")
        copied = "\n".join(block.plain() for block in stage.tab.conversation.blocks)
        assert "KeyError: MODEL\n99%" in copied
        assert not set("\x1b␛␍") & set(copied + stage.conversation)


async def test_a_model_call_that_fails_as_a_refusal_is_shown_as_one(tmp_path, version):
    """FN-94: `refusal` in place of an error, with what the agent said."""
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("API error 529", stop_reason="refusal"), agent.reply("Better now"))
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Hi")
        await stage.shows("API error 529", "the agent refused to continue")
        await stage.send("Again")
        await stage.shows("Better now")


async def test_starting_is_seen_with_what_the_agent_says_meanwhile(tmp_path):
    """FN-102: a start that needs seconds shows progress, and noise before the first frame is skipped."""
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        asked = await agent.next("initialize")
        stage.app.agent.wire_log.stderr(b"\x1b[2K\x1b[36mdownloading\x1b[0m the model\n\x1b[?25h\n")
        stage.app.screen_refresh.update_status()
        await stage.shows("◐ starting… 0 s: downloading the model")
        agent.send(b"npm warn: old")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {}})
        await stage.shows("● ready")


async def test_an_agent_that_never_answers_is_given_up(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False, deadlines=Deadlines(handshake=0.05)) as stage:
        await told(stage, "did not answer `initialize` within 0.05 s", "look for its flag for ACP", "F5")


@pytest.mark.bad_frames
async def test_noise_is_no_trouble(tmp_path, version, monkeypatch):
    monkeypatch.delenv("ACCORD_STRICT")
    agent = Agent("sayer", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say("Still here")

    async with opened(faulty(agent, Noisy()), tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.shows("Still here")
        await stage.idle()


async def test_an_agent_that_wants_a_login_is_given_a_choice(tmp_path):
    methods = [{"id": "key", "name": "API key"}, {"id": "web", "name": "In the browser"}]
    agent = ScriptedAgent(1, authMethods=methods)
    agent.on("session/new", AuthRequired(), {"sessionId": "s"})
    agent.on("authenticate", {})
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await stage.shows("The agent requires a login", "API key (key)", "In the browser (web)")
        await stage.press("down", "enter")
        await stage.until(lambda: stage.tab.is_open)
        assert agent.calls("authenticate")[0].params["methodId"] == "web"


async def test_who_does_not_log_in_is_told_how(tmp_path):
    agent = ScriptedAgent(1, authMethods=[{"id": "key", "name": "API key"}])
    agent.on("session/new", AuthRequired(), {"sessionId": "s"})
    agent.on("authenticate", {})
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await stage.shows("The agent requires a login")
        await stage.press("escape")
        await stage.shows("Type /login to log in.")
        await stage.send("/login")
        await stage.shows("API key (key)")
        await stage.press("enter")
        await stage.until(lambda: stage.tab.is_open)


async def test_the_built_in_agent_answers(tmp_path):
    command = Command([sys.executable, "-m", "accord", "agent"], cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path)})
    async with opened(command, tmp_path, ready=False) as stage:
        await stage.until(lambda: stage.tab.is_open)
        await stage.until(lambda: stage.tab.session.commands)
        await stage.send("/mode")
        await stage.idle()
        assert "▌ /mode" in stage.conversation


async def test_an_mcp_server_that_the_agent_cannot_take_is_left_out_and_named(tmp_path):
    agent = ScriptedAgent(1)
    servers = [HttpServer(name="web", url="http://localhost"), StdioServer(name="files", command="mcp-files")]
    async with opened(agent, tmp_path, version=1, servers=servers) as stage:
        await stage.shows("MCP server 'web' is left out: the agent takes none of type http")
        told = agent.calls("session/new")[0].params["mcpServers"]
        assert [server["name"] for server in told] == ["files"]


async def test_without_colours_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    agent = Agent("sayer", version="1")

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.say("`code` and **bold**")

    async with opened(agent, tmp_path, theme=None) as stage:
        await stage.send("Go")
        await stage.idle()
        assert stage.app.theme == "ansi-dark"
        assert stage.app.no_color
        picture = stage.app.export_screenshot()
        fills = set(re.findall(r"fill: (#[0-9a-f]{6})", picture))
        shares = [[int(fill[place : place + 2], 16) for place in (1, 3, 5)] for fill in fills]
        assert all(max(share) - min(share) < 8 for share in shares), fills  # greys: what is dim is no colour
