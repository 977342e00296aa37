"""Agents that are not there, break down or misbehave: what happened is shown, and what to do."""

from __future__ import annotations

import re
import sys

import pytest

from accord import Agent, AuthRequired, Turn
from accord.client.commands import Command
from accord.client.deadlines import Deadlines
from accord.session.servers import HttpServer, StdioServer
from accord.testing import Noisy, ScriptedAgent, faulty
from tests.apps.console.screen.stage import opened


async def test_an_agent_that_is_not_there_is_named(tmp_path):
    async with opened(Command(["no-such-agent-anywhere"]), tmp_path, ready=False) as stage:
        await stage.shows("The agent is gone", "no-such-agent-anywhere", "F5")
        await stage.send("Hello?")
        await stage.shows("1 Hello?")


async def test_an_agent_that_exits_at_once_tells_its_last_words(tmp_path):
    script = "import sys; print('\\x1b[31mno key set', file=sys.stderr); sys.exit(7)"
    async with opened(Command([sys.executable, "-c", script]), tmp_path, ready=False) as stage:
        await stage.shows("exit code 7", "│ no key set")


async def test_starting_is_seen_with_what_the_agent_says_meanwhile(tmp_path):
    """FN-102: a start that needs seconds shows progress, and noise before the first frame is skipped."""
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        asked = await agent.next("initialize")
        stage.app.agent.traffic.stderr(b"downloading the model\n")
        stage.app.showing.status()
        await stage.shows("◐ starting… 0 s: downloading the model")
        agent.send(b"npm warn: old")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {}})
        await stage.shows("● ready")


async def test_an_agent_that_never_answers_is_given_up(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False, deadlines=Deadlines(handshake=0.05)) as stage:
        await stage.shows("The agent did not answer within 0.05 s", "--acp")


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
        await stage.shows("The agent wants you to log in", "API key (key)", "In the browser (web)")
        await stage.press("down", "enter")
        await stage.until(lambda: stage.talk.is_open)
        assert agent.calls("authenticate")[0].params["methodId"] == "web"


async def test_who_does_not_log_in_is_told_how(tmp_path):
    agent = ScriptedAgent(1, authMethods=[{"id": "key", "name": "API key"}])
    agent.on("session/new", AuthRequired(), {"sessionId": "s"})
    agent.on("authenticate", {})
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await stage.shows("The agent wants you to log in")
        await stage.press("escape")
        await stage.shows("Type /login to do it.")
        await stage.send("/login")
        await stage.shows("API key (key)")
        await stage.press("enter")
        await stage.until(lambda: stage.talk.is_open)


async def test_the_built_in_agent_answers(tmp_path):
    command = Command([sys.executable, "-m", "accord", "agent"], cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path)})
    async with opened(command, tmp_path, ready=False) as stage:
        await stage.until(lambda: stage.talk.is_open)
        await stage.send("/help")
        await stage.idle()
        assert "▌ /help" in stage.story


async def test_an_mcp_server_that_the_agent_cannot_take_is_left_out_and_named(tmp_path):
    agent = ScriptedAgent(1)
    servers = [HttpServer(name="web", url="http://localhost"), StdioServer(name="files", command="mcp-files")]
    async with opened(agent, tmp_path, version=1, servers=servers) as stage:
        await stage.shows("the MCP server 'web' is left out")
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
        assert len(fills) <= 2, fills  # the terminal's own two
