"""The narrow parts around the conversation: what they do when there is more than fits."""

from __future__ import annotations

import pytest

from accord import Agent, Turn
from accord.session.entities import PlanEntry
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened


def quiet() -> Agent:
    agent = Agent("quiet", version="1")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say("Yes.")

    return agent


async def open_tabs(stage: Stage, count: int) -> None:
    while len(stage.app.tabs) < count:
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab.is_open)


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_the_current_tab_is_always_in_view(tmp_path, width):
    async with opened(quiet(), tmp_path, size=(width, 24)) as stage:
        await open_tabs(stage, 7)
        for current in (7, 1, 2, 3, 4, 5, 6):
            assert f" {current} " in stage.lines[0]
            assert stage.tab is stage.app.tabs[current - 1]
            await stage.press("alt+right")


async def test_tabs_that_have_no_room_are_counted_and_can_be_clicked(tmp_path):
    async with opened(quiet(), tmp_path, size=(60, 24)) as stage:
        await open_tabs(stage, 9)
        line = stage.lines[0]
        assert line.startswith("←")
        hidden = int(line[1])
        assert f" {hidden + 1} " in line
        assert "→" not in line
        await stage.pilot.click("#tabs", offset=(1, 0))
        assert stage.tab is stage.app.tabs[hidden - 1]
        await stage.press("alt+right")
        await stage.app.tabs.close(stage.tab)


async def test_titles_become_shorter_before_tabs_are_left_out(tmp_path):
    async with opened(quiet(), tmp_path, size=(80, 24)) as stage:
        await open_tabs(stage, 5)
        assert all(f" {number} " in stage.lines[0] for number in range(1, 6))
        assert "←" not in stage.lines[0]


async def test_tab_reaches_what_waits_and_its_keys_work_there(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path, version=1) as stage:
        for text in ("Go", "first", "second", "third"):
            await stage.send(text)
        await stage.shows("Tab selects")
        await stage.press("tab")
        await stage.shows("▸ first", "x remove")
        await stage.press("down", "x")
        assert stage.tab.queue.prompts == ["first", "third"]
        await stage.press("tab")
        assert stage.app.focused is stage.app.conversation
        await stage.press("tab")
        assert stage.app.focused is stage.app.prompt
        await stage.press("tab", "down", "down")
        assert stage.app.focused is stage.app.prompt
        await stage.press("tab", "up", "enter")
        assert (stage.prompt, stage.tab.queue.prompts) == ("first", ["third"])


async def test_the_chosen_one_of_many_that_wait_is_shown(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path, version=1) as stage:
        for text in ("Go", *(f"number {place}" for place in range(1, 10))):
            await stage.send(text)
        await stage.press("tab")
        for place in range(1, 10):
            await stage.shows(f"▸ number {place}")
            await stage.press("down")
        assert stage.app.focused is stage.app.prompt
        await stage.shows("1 number 1", "… 4 more")


async def test_a_plan_that_was_left_undone_is_a_line_until_the_agent_speaks_of_it_again(tmp_path, version):
    agent = Agent("planner", version="1")

    @agent.prompt
    async def plan(turn: Turn) -> None:
        if turn.text == "Plan":
            await turn.plan([PlanEntry("look", status="completed"), *(f"step {number}" for number in range(1, 6))])

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Plan")
        await stage.idle()
        await stage.shows("Plan 1 of 6", "✓ look", "○ step 5")
        await stage.send("Something else")
        await stage.idle()
        await stage.until(lambda: "step 5" not in stage.text)
        assert stage.app.main.plan.size.height == 1
        await stage.shows("Plan 1 of 6 ○ step 1")
        await stage.send("Plan")
        await stage.shows("○ step 5")
        await stage.idle()
