"""Which agents are offered terminals by `accord run`, and who decides on each command: fast-agent runs its own unasked."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import does
from tests.apps.console.screen.stage import opened


def fast_agent(file: Path, name: str = "fast-agent-acp") -> ScriptedAgent:
    """fast-agent: commands go to the client's terminals; where it offers none, they are run, and nobody is asked."""
    agent = ScriptedAgent(1, agentInfo={"name": name, "version": "0.9"})

    async def turn(agent: ScriptedAgent) -> bool:
        offered = agent.calls("initialize")[-1].params["clientCapabilities"]["terminal"]
        call = {"toolCallId": "x", "title": "execute", "kind": "execute", "rawInput": {"command": f"touch {file}"}}
        agent.update("tool_call", status="pending", **call)
        if not offered:
            await asyncio.to_thread(file.touch)
            agent.update("tool_call_update", toolCallId="x", status="completed")
            return True
        about = {"sessionId": agent.session_id}
        made = await agent.ask("terminal/create", {**about, "command": "touch", "args": [str(file)]})
        if made.error is not None:
            agent.update("tool_call_update", toolCallId="x", status="failed")
            return False
        await agent.ask("terminal/wait_for_exit", {**about, "terminalId": made.result["terminalId"]})
        agent.update("tool_call_update", toolCallId="x", status="completed")
        return True

    return does(agent, turn)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "touched"


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def is_offered(agent: ScriptedAgent) -> list[bool]:
    return [call.params["clientCapabilities"]["terminal"] for call in agent.calls("initialize")]


async def test_without_a_terminal_a_command_that_would_be_run_unasked_is_rejected(typed: Any, file, tmp_path: Path):
    """Nobody is there, nothing was chosen: the agent is offered terminals all the same, so that it does not run it itself."""
    agent = fast_agent(file, name="something")
    async with program(agent) as command:
        script = tmp_path / "fast-agent-acp"
        executable(script, f"#!/bin/sh\nexec {shlex.join(command.args)}\n")
        finished = await typed("run", "--json", "Hi", "--", script)
    assert not file.exists()
    assert is_offered(agent) == [True]
    decided = finished.event("permission")
    assert (decided["allowed"], decided["by"], decided["command"]) == (False, "rule", f"touch {file}")
    assert finished.status == ExitStatus.ALL_REJECTED


@pytest.mark.parametrize("words", [(), ("--permissions", "reject")], ids=["nothing chosen", "reject"])
async def test_one_that_only_says_who_it_is_is_started_again_with_terminals(typed: Any, file, words: Any):
    agent = fast_agent(file)
    async with program(agent) as command:
        finished = await typed("run", *words, "Hi", "--", *command.args)
    assert not file.exists()
    assert is_offered(agent) == [False, True]
    assert f"rejected: run touch {file} in " in finished.err
    assert finished.status == ExitStatus.ALL_REJECTED


async def test_any_other_agent_is_offered_none_where_everything_is_rejected(typed: Any, file):
    agent = fast_agent(file, name="something")
    async with program(agent) as command:
        await typed("run", "--permissions", "reject", "Hi", "--", *command.args)
    assert is_offered(agent) == [False]
    assert file.exists()


@pytest.mark.parametrize(
    ("chosen", "is_allowed"), [("allow-reads", False), ("allow-edits", False), ("allow-all", True)]
)
@pytest.mark.parametrize("name", ["fast-agent-acp", "something"])
async def test_by_every_other_choice_each_command_is_decided_by_it(
    typed: Any, file, chosen: str, is_allowed: bool, name: str
):
    agent = fast_agent(file, name)
    async with program(agent) as command:
        finished = await typed("run", "--json", "--permissions", chosen, "Hi", "--", *command.args)
    assert is_offered(agent) == [True]
    assert file.exists() is is_allowed
    [decided] = [event for event in finished.events if event["type"] == "permission"]
    assert (decided["allowed"], decided["by"]) == (is_allowed, "rule")
    assert finished.status == (0 if is_allowed else ExitStatus.ALL_REJECTED)


async def test_a_command_that_the_agent_has_asked_for_is_decided_once(typed: Any, file):
    agent = ScriptedAgent(1)

    async def turn(agent: ScriptedAgent) -> bool:
        about = {"sessionId": agent.session_id}
        call = {"toolCallId": "x", "title": "execute", "kind": "execute", "rawInput": {"command": f"touch {file}"}}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        await agent.ask("session/request_permission", {**about, "toolCall": call, "options": options})
        made = await agent.ask("terminal/create", {**about, "command": f"touch {file}"})
        await agent.ask("terminal/wait_for_exit", {**about, "terminalId": made.result["terminalId"]})
        return True

    async with program(does(agent, turn)) as command:
        finished = await typed("run", "--json", "--permissions", "allow-all", "Hi", "--", *command.args)
    assert file.exists()
    assert [event["allowed"] for event in finished.events if event["type"] == "permission"] == [True]


async def test_the_screen_asks_about_a_command_where_it_may_only_edit(tmp_path: Path, file):
    agent = fast_agent(file, name="something")
    async with opened(agent, tmp_path, version=1, permissions="allow-edits") as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.shows(f"touch {file}")
        await stage.press("n")
        await stage.idle()
        assert not file.exists()


async def test_the_screen_starts_it_again_as_well(tmp_path: Path, file):
    agent = fast_agent(file)
    async with opened(agent, tmp_path, version=1, permissions="reject") as stage:
        assert is_offered(agent) == [False, True]
        await stage.send("Go")
        await stage.shows("rejected by --permissions: run touch")
        await stage.idle()
        assert not file.exists()
