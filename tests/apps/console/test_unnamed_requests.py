"""Permission requests with an id of their own and no kind: listed once, and decided by the call that they are for."""

from __future__ import annotations

from typing import Any

from accord.testing import ScriptedAgent, program
from tests.apps.console.real_peers import deepagents_edit, deepagents_shell, does
from tests.apps.console.screen.stage import opened


async def test_allow_edits_decides_and_the_call_is_listed_once(typed: Any, project):
    """deepagents-code."""
    path = project / "notes.md"
    agent = does(ScriptedAgent(1), deepagents_edit(path, "milk", "bread"), deepagents_shell("ls"))
    async with program(agent) as command:
        finished = await typed("run", "--json", "--permissions", "allow-edits", "Hi", "--", *command.args)
    assert "bread" in path.read_text()
    decided = [event for event in finished.events if event["type"] == "permission"]
    assert [(event["tool_call_id"], event["allowed"]) for event in decided] == [("call_1", True), ("call_2", False)]
    assert {event["id"] for event in finished.events if event["type"] == "tool_call"} == {"call_1", "call_2"}
    assert finished.event("end")["files_changed"] == [str(path)]


async def test_the_screen_shows_one_call_and_its_diff(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("Buy milk.\n")
    agent = does(ScriptedAgent(1), deepagents_edit(path, "milk", "bread"))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.shows("- milk", "+ bread")
        await stage.press("y")
        await stage.idle()
        assert len(stage.tab.conversation.calls) == 1
        assert "1 file changed" in stage.text
