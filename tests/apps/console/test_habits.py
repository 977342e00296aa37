"""Habits of agents that many people have, as far as `accord run` is concerned."""

from __future__ import annotations

import pytest

from accord.apps.console.exits import Exit
from accord.testing import ScriptedAgent, program
from tests.apps.console.test_run import asking

pytestmark = pytest.mark.timeout(40)


async def test_the_details_of_an_internal_error_are_told(typed):
    agent = ScriptedAgent(1)
    agent.on("session/new", lambda asked: asked.fail(-32603, "Internal error", {"details": "no key \x1b[2J"}))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == Exit.FAILED
    assert "Internal error: no key ␛[2J (error -32603)" in finished.err


@pytest.mark.parametrize(
    ("kind", "choice"), [("search", "allow-reads"), ("edit", "allow-edits"), ("execute", "allow-all")]
)
async def test_whoever_is_refused_something_learns_the_least_choice_that_allows_it(typed, kind, choice):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", asking(agent, kind))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert f"--permissions {choice} allows it" in finished.err


async def test_models_that_are_listed_can_be_chosen(typed):
    agent = ScriptedAgent(1)
    models = {"currentModelId": "a", "availableModels": [{"modelId": "b", "name": "Better"}]}
    agent.on("session/new", lambda asked: {"sessionId": "s", "models": models})
    agent.on("session/set_model", lambda asked: {})
    agent.on("session/prompt", agent.reply("Hi."))
    async with program(agent) as command:
        finished = await typed("run", "--model", "better", "Hi", "--", *command.args)
    assert finished.status == 0, finished.err
    assert agent.calls("session/set_model")[0].params["modelId"] == "b"
