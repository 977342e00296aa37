"""A test of an agent is a client of it, in one process and in every version: pytest -p accord.testing.plugin test_agent.py

In your own project, write `pytest_plugins = ["accord.testing.plugin"]` into conftest.py: it has `acp_connect` and `acp_version`, and runs
asynchronous tests.
"""

from __future__ import annotations

import pytest

from accord import Agent, Turn, permissions

agent = Agent("sweeper", version="1.0")  # in your own tests: import the agent that you test


@agent.prompt
async def sweep(turn: Turn) -> None:
    async with turn.tool_call("Delete *.pyc", kind="delete") as call:
        if await turn.allowed(call):
            for file in turn.cwd.rglob("*.pyc"):
                file.unlink()
    await turn.say("As you like." if call.allowed is False else "Swept.")


@pytest.mark.parametrize("allowed", [True, False])
async def test_it_sweeps_only_when_it_may(acp_connect, acp_version, allowed, tmp_path):
    (tmp_path / "old.pyc").touch()
    client = await acp_connect(agent, on_permission=permissions.allow_all if allowed else permissions.reject_all)
    session = await client.new_session(tmp_path)
    reply = await session.prompt("Sweep, please")
    assert reply.text == ("Swept." if allowed else "As you like.")
    assert reply.stop_reason == "end_turn"
    [call] = session.transcript.tool_calls.values()
    assert call.status == ("completed" if allowed else "failed")
    assert (tmp_path / "old.pyc").exists() is not allowed
