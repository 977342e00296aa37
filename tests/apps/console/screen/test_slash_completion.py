"""Commands of the screen and of the agent, when both have one of the same name."""

from __future__ import annotations

import pytest

from accord.apps.console.screen.slash_completion import OWN_COMMANDS, completions, parse_own_command
from accord.session.entities import SlashCommand
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

REVIEW = SlashCommand(name="review", description="Look at the changes", hint="what for")


def test_both_are_offered_and_it_is_said_whose_each_is():
    offered = {each.label: each.meaning for each in completions("/rev", True, [REVIEW], [])}
    assert offered == {
        "/review": "Look at the changes  <what for>  (agent)",
        "/accord:review": f"{OWN_COMMANDS['review']}  (accord)",
    }
    alone = {each.label: each.meaning for each in completions("/rev", True, [], [])}
    assert alone == {"/review": f"{OWN_COMMANDS['review']}  (accord)"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/review", None),
        ("/review now", None),
        ("/accord:review", ("review", "")),
        ("/accord:export a.md", ("export", "a.md")),
        (" /log ", ("log", "")),
        ("/export a.md", ("export", "a.md")),
        ("/export\na.md", ("export", "a.md")),
        ("/export\ta.md\n", ("export", "a.md")),
        ("", None),
        ("/accord:nothing", None),
        ("log", None),
        ("see /log", None),
    ],
)
def test_the_agents_comes_first_and_the_screens_is_had_by_its_whole_name(text: str, meant: tuple[str, str] | None):
    assert parse_own_command(text, [REVIEW]) == meant


async def test_each_reaches_whom_it_belongs_to(tmp_path):
    agent = ScriptedAgent(1)
    commands = [{"name": "review", "description": "Look at the changes"}]
    agent.on("session/prompt", agent.reply("Reviewed."))
    async with opened(agent, tmp_path, version=1) as stage:
        agent.update("available_commands_update", session_id=stage.tab.session_id, availableCommands=commands)
        await stage.until(lambda: stage.tab.session.commands)
        await stage.send("/review")
        await stage.shows("Reviewed.")
        await stage.send("/accord:review")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        assert len(agent.calls("session/prompt")) == 1
