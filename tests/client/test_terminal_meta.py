"""Commands of agents that tell their output in `_meta` alone, as they are seen through the client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import Client, TerminalChanged, TerminalOutput
from accord.session.entities import Exit, TerminalItem
from accord.testing import ScriptedAgent
from tests.apps.console.real_peers import claude_shell, codex_shell, does, pi_shell

PEERS = [
    pytest.param(pi_shell("make", "one\n", "two\n", id="t"), "/work", None, id="pi-acp"),
    pytest.param(codex_shell("make", "one\n", "two\n", id="t"), "/work", "make", id="codex-acp"),
    pytest.param(
        codex_shell("make", "one\n", "two\n", id="t", key="terminal_output_delta"),
        "/work",
        "make",
        id="codex-acp-delta",
    ),
    pytest.param(claude_shell("make", "one\ntwo\n", id="t"), None, None, id="claude-agent-acp"),
]


@pytest.mark.parametrize("spoken", [1, "2-draft"], ids=["v1", "v2-draft"])
@pytest.mark.parametrize(("turn", "cwd", "command"), PEERS)
async def test_output_in_meta_is_the_output_of_a_terminal(turn: Any, cwd: Any, command: Any, spoken: Any):
    """FN-104: command output only in `_meta`. Some of these agents also repeat version 2 and speak v1."""
    agent = does(ScriptedAgent(spoken), turn)
    async with Client(agent) as client:
        session = await client.new_session("/work")
        changes = [change async for change in session.prompt("Go")]
        terminal, call = session.transcript.terminals["t"], session.transcript.tool_calls["t"]
    assert (terminal.text, terminal.exit, terminal.cwd, terminal.command) == ("one\ntwo\n", Exit(code=0), cwd, command)
    assert list(call.content) == [TerminalItem(terminal_id="t")]
    assert (call.title, call.status) == ("make", "completed")
    assert call.meta in (None, {"claudeCode": {"toolName": "Bash"}})
    told = [change.data for change in changes if isinstance(change, TerminalOutput)]
    assert b"".join(told) == b"one\ntwo\n"
    assert [change.terminal.id for change in changes if isinstance(change, TerminalChanged)] == ["t", "t"]


@pytest.mark.parametrize("offered", ["auto", 1, "2-draft"])
async def test_the_client_says_that_it_shows_such_terminals(offered: Any):
    """FN-104: agents that ask for it tell no output otherwise."""
    agent = ScriptedAgent(1 if offered == "auto" else offered)
    async with Client(agent, version=offered, meta={"own": 1}):
        [asked] = agent.calls("initialize")
    assert asked.params["clientCapabilities"]["_meta"] == {"own": 1, "terminal_output": True}


async def test_the_output_of_a_command_is_told_while_it_runs():
    agent, may_go_on = ScriptedAgent(1), asyncio.Event()

    @agent.on("session/prompt")
    async def answer(asked: Any) -> None:
        await codex_shell("make", "one\n", id="t")(agent)
        await may_go_on.wait()
        agent.finish(asked)

    async with Client(agent) as client:
        session = await client.new_session("/work")
        async for change in session.prompt("Go"):
            if isinstance(change, TerminalOutput):
                assert change.terminal.text == "one\n"
                may_go_on.set()
    assert may_go_on.is_set()
