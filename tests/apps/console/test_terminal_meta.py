"""Commands of agents that tell their output in `_meta` alone, as `accord run` and the plain mode tell them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import Turn, claude_shell, codex_shell, does, pi_shell

PEERS = [
    pytest.param(pi_shell("make", "one\n", "two\n", code=2), "make: exit 2", None, id="pi-acp"),
    pytest.param(codex_shell("make", "one\n", "two\n", code=2), "$ make: exit 2", "make", id="codex-acp"),
    pytest.param(claude_shell("make", "one\ntwo\n"), "make: exit 0", None, id="claude-agent-acp"),
]


async def ran(typed: Any, turn: Turn, *words: str) -> Any:
    async with program(does(ScriptedAgent(1), turn)) as command:
        return await typed("run", *words, "Hi", "--", *command.args)


@pytest.mark.parametrize(("turn", "end", "named"), PEERS)
async def test_run_tells_how_a_command_ended_that_the_agent_ran_itself(typed, turn: Turn, end: str, named: Any):
    finished = await ran(typed, turn)
    assert (finished.status, finished.out) == (0, "Over.\n")
    begun, over, how = finished.notes[1:]
    assert begun in ("→ make", "→ Terminal")
    assert over in ("✓ make", "✗ make")
    assert how == end


@pytest.mark.parametrize(("turn", "end", "named"), PEERS)
async def test_events_tell_the_output_as_it_comes(typed, turn: Turn, end: str, named: Any):
    """FN-104: command output only in `_meta`."""
    finished = await ran(typed, turn, "--json")
    id = finished.event("tool_call")["id"]
    assert [item["terminal_id"] for item in finished.event("tool_call")["content"]] == [id]
    first, *_, last = [event for event in finished.events if event["type"] == "terminal"]
    assert (first["id"], first["command"], first["exit"]) == (id, named, None)
    assert f"{last['exit']['code']}" == end[-1]
    told = [(event["id"], event["text"]) for event in finished.events if event["type"] == "terminal_output"]
    assert "".join(text for _, text in told) == "one\ntwo\n"
    assert {each for each, _ in told} == {id}


async def test_another_version_of_the_updates_has_them_as_terminals(typed):
    finished = await ran(typed, codex_shell("make", "one\n", id="t"), "--format", "v2")
    tags = [event["params"]["update"]["sessionUpdate"] for event in finished.events]
    assert "terminal_update" in tags
    assert "terminal_output_chunk" in tags


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
async def test_the_plain_mode_shows_the_output(project):
    from tests.apps.console.terminal import at_terminal  # not on Windows

    agent = does(ScriptedAgent(1), pi_shell("make", "one\n", "\x1b[31mtwo\x1b[0m\n"))
    async with program(agent) as command, at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Done: make\r\n    one\r\n    two\r\nEnded, exit 0: make\r\n")
        await terminal.sees("You: ")
        terminal.type("/quit\n")
        assert await run.wait() == 0
