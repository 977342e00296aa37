"""What `accord run` prints for people."""

from __future__ import annotations

import pytest

from accord.session.content import Text
from accord.session.entities import ContentItem, Plan, PlanEntry
from accord.session.updates import PlanPatch, ToolCallPatch
from accord.testing import ScriptedAgent, program
from tests.apps.console.test_run import working


@pytest.mark.requirement("COMPAT-21", "COMPAT-22")
async def test_a_call_of_a_kind_and_status_that_nobody_knows_is_told_like_any_other(typed):
    agent = ScriptedAgent(2)
    odd = ToolCallPatch(id="c", title="Draw", kind="_draw", status="_waiting")
    agent.on("session/prompt", working(agent, odd))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, "→ Draw" in finished.err.splitlines()) == (0, True)


async def test_why_a_call_failed_is_told_without_its_fences(typed, version):
    """Claude's adapter puts the words of a tool into a block of code."""
    words = ContentItem(content=Text("```console\nUser refused `permission`\n```"))
    agent = ScriptedAgent(version)
    failed = ToolCallPatch(id="c", title="Edit", kind="edit", status="failed", content=[words])
    agent.on("session/prompt", working(agent, failed))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert "✗ Edit: User refused `permission`" in finished.err.splitlines()


async def test_a_call_that_the_turn_leaves_open_is_told_to_have_no_result(typed, version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", working(agent, ToolCallPatch(id="c", title="Look", kind="read", status="in_progress")))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
        told = await typed("run", "--json", "Hi", "--", *command.args)
    assert [line for line in finished.err.splitlines() if "Look" in line] == [
        "→ Look",
        "∅ Look: ended without a result",
    ]
    calls = [event for event in told.events if event["type"] == "tool_call"]
    assert [(each["status"], each["ended_without_result"]) for each in calls] == [
        ("in_progress", False),
        ("in_progress", True),
    ]


async def test_an_agent_that_dies_leaves_no_call_open(typed, version):
    agent = ScriptedAgent(version)

    def die(asked):
        agent.begin(asked)
        agent.tell(PlanPatch(plan=Plan(id="p", entries=[PlanEntry(content="Read it", status="in_progress")])))
        agent.tell(ToolCallPatch(id="c", title="Look", kind="read", status="in_progress"))
        agent.die(3)

    agent.on("session/prompt", die)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert "∅ Look: ended without a result" in finished.err.splitlines()
    assert "plan: 0 of 1 done, broken off at: Read it" in finished.err.splitlines()
