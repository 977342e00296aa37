"""The start of the agent, and F5: one at a time, and the last one counts."""

from __future__ import annotations

import sys

from accord.apps.console.screen.blocks.notices import ErrorBlock
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.apps.console.screen.status import AgentStatus, left_facts
from accord.client.deadlines import Deadlines
from accord.client.target import Command
from accord.testing import ScriptedAgent, Silent, faulty
from tests.apps.console.screen.stage import Stage, is_there, opened

HELLO = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}}

HANGS_AT_FIRST = """
import json, os, subprocess, sys
is_first = not os.path.exists(sys.argv[1])
child = subprocess.Popen(["sleep", "1000"])
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()} {child.pid}\\n")
answers = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and not is_first:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}), flush=True)
"""


async def two_tabs(stage: Stage) -> None:
    first = stage.tab
    await stage.press("ctrl+n")
    await stage.until(lambda: stage.tab is not first and stage.tab.is_open)


async def answers(stage: Stage, agent: ScriptedAgent) -> None:
    """The agent that is there now is the screen's, and watched."""
    await stage.send("Hi")
    asked = await agent.next("session/prompt")
    agent.finish(asked)
    await stage.idle()
    agent.die(3, "at last")
    await stage.shows("agent ended, F5 restarts it")


async def test_a_start_that_never_answers_is_begun_again_by_f5(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None, HELLO)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await agent.next("initialize")
        await stage.press("f5")
        await stage.until(lambda: stage.tab.is_open)
        assert not any(isinstance(block, ErrorBlock) for block in stage.tab.conversation.blocks)
        assert len(agent.calls("initialize")) == 2
        await answers(stage, agent)


async def test_a_start_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    command = Command([sys.executable, "-c", HANGS_AT_FIRST, str(pids)], close_grace=0.1)
    async with opened(command, tmp_path, version=1, ready=False) as stage:
        await stage.until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        first = [int(pid) for pid in pids.read_text().split()]
        await stage.press("f5")
        await stage.until(lambda: stage.tab.is_open)
        assert not any(map(is_there, first))
        second = [int(pid) for pid in pids.read_text().split()][2:]
        assert len(second) == 2
    assert not any(map(is_there, second))


async def test_of_many_starts_the_last_one_counts(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None, HELLO)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await agent.next("initialize")
        for _ in range(4):
            stage.app.action_restart()
        await stage.until(lambda: stage.tab.is_open)
        assert len(agent.calls("session/new")) == 1
        await answers(stage, agent)


async def test_f5_while_the_sessions_are_taken_up_takes_them_all_up_again(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await two_tabs(stage)
        agent.on("session/resume", None, {})
        await stage.press("f5")
        await agent.next("session/resume")
        await stage.press("f5")
        await stage.until(lambda: all(tab.is_open for tab in stage.app.tabs))
        ids = [tab.session_id for tab in stage.app.tabs]
        assert [asked.session_id for asked in agent.calls("session/resume")] == [ids[0], *ids]
        await answers(stage, agent)


async def test_the_screen_is_left_while_a_start_hangs(tmp_path):
    agent = faulty(ScriptedAgent(1), Silent("initialize"))
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        await stage.shows("starting…")
        stage.app.action_restart()
        stage.app.action_restart()
        await stage.press("ctrl+q")


async def test_the_session_that_was_asked_for_is_not_forgotten_by_f5(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None, HELLO)
    agent.on("session/resume", {})
    async with opened(agent, tmp_path, version=1, resume="old", ready=False) as stage:
        await agent.next("initialize")
        await stage.press("f5")
        await stage.until(lambda: stage.tab.is_open)
        assert stage.tab.session_id == "old"
        assert agent.calls("session/new") == []


async def test_a_tab_that_was_begun_while_the_agent_started_gets_its_session(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    async with opened(agent, tmp_path, version=1, ready=False) as stage:
        asked = await agent.next("initialize")
        await stage.press("ctrl+n")
        asked.answer(HELLO)
        await stage.until(lambda: all(tab.is_open for tab in stage.app.tabs))
        agent.on("session/resume", {})
        await stage.press("f5")
        again = await agent.next("initialize")
        await stage.press("ctrl+n")
        again.answer(HELLO)
        await stage.until(lambda: all(tab.is_open for tab in stage.app.tabs))
        assert len(agent.calls("session/new")) == len(stage.app.tabs) == 3


async def test_what_was_said_stays_when_the_session_is_not_taken_up_again(tmp_path):
    agent = ScriptedAgent(1, agentCapabilities={"loadSession": True})
    agent.on("session/prompt", agent.reply("Words of before"))
    agent.on("session/load", lambda asked: asked.fail(-32602, "not now"))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Hi")
        await stage.shows("Words of before")
        await stage.idle()
        await stage.press("f5")
        await stage.shows("cannot be reopened: not now")
        assert "Words of before" in stage.conversation


async def test_a_start_that_takes_too_long_is_said_with_what_gives_it_more_time(tmp_path):
    agent = faulty(ScriptedAgent(1), Silent("initialize"))
    async with opened(agent, tmp_path, version=1, ready=False, deadlines=Deadlines(handshake=0.2)) as stage:
        await stage.shows("did not answer `initialize` within 0.2 s", "`--start-timeout` gives it more time")


async def test_the_status_line_says_how_long_the_agent_has(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        for seconds, told in ((3, "starting… 3 s: loading"), (7, "starting… 7 s of 1:00 min: loading")):
            status = AgentStatus(
                name="slow", state="starting", seconds=seconds, start_timeout=60, last_stderr="loading"
            )
            said = left_facts(status, stage.app.tab, stage.app.palette, KeyBindings())[0].text.plain
            assert said.endswith(told)
