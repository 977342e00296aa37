"""Logging in from the screen; the terminal's own part is in test_handing_over.py."""

from __future__ import annotations

import pytest

from accord.apps.console.tty import login_method_text, unsupported_login_advice
from accord.client.target import Command
from accord.errors import AuthRequired
from accord.session.capabilities import AgentLogin, LoginVariable, TerminalLogin, VariableLogin
from accord.session.value import Unknown
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import Stage, opened

WAYS = [{"id": "t", "name": "Here", "type": "terminal", "args": ["--login"], "env": {"WHY": "login"}}]


def terminal(stage: Stage, *codes: int) -> list[Command]:
    """Stands for the terminal, where the login ends with these codes one after the other."""
    commands: list[Command] = []

    async def run(command: Command) -> int:
        commands.append(command)
        return codes[len(commands) - 1]

    stage.app.handover._run = run
    return commands


def resumable() -> ScriptedAgent:
    can = {"sessionCapabilities": {"resume": {}}}
    agent = ScriptedAgent(1, authMethods=WAYS, agentCapabilities=can)
    agent.on("session/resume", {})
    return agent


async def until_offered(stage: Stage, name: str) -> None:
    await stage.shows("The agent requires a login", name)


async def test_after_a_login_in_the_terminal_the_session_is_asked_for_again(tmp_path):
    agent = resumable()
    agent.on("session/new", AuthRequired(), {"sessionId": "s"})
    async with program(agent) as command, opened(command, tmp_path, version=1, ready=False) as stage:
        commands = terminal(stage, 0)
        await until_offered(stage, "Here (t, in the terminal)")
        await stage.press("enter")
        await stage.until(lambda: stage.tab.is_open)
        assert commands[0].args == [*command.args, "--login"]
        assert commands[0].env["WHY"] == "login"
        assert len(agent.calls("initialize")) == 2
        assert stage.app.agent.state == "ready"


async def test_a_login_that_fails_leaves_an_agent_that_is_still_watched(tmp_path):
    agent = resumable()
    agent.on("session/new", AuthRequired(), AuthRequired(), {"sessionId": "s"})
    async with program(agent) as command, opened(command, tmp_path, version=1, ready=False) as stage:
        terminal(stage, 3, 3)
        await until_offered(stage, "Here")
        await stage.press("enter")
        await stage.shows("exit code 3", "Type /login to log in.")
        await stage.send("/login")
        await until_offered(stage, "Here")
        await stage.press("enter")
        await stage.until(lambda: len(stage.app._notifications) > 0)
        agent.die(9, "boom")
        await stage.shows("agent ended, F5 restarts it")


async def test_sessions_that_a_login_closes_are_taken_up_again(tmp_path):
    agent = resumable()
    agent.on("session/new", {"sessionId": "one"}, {"sessionId": "two"})
    async with program(agent) as command, opened(command, tmp_path, version=1) as stage:
        terminal(stage, 0)
        await stage.press("ctrl+n")
        await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
        await stage.send("/login")
        await until_offered(stage, "Here")
        await stage.press("enter")
        await stage.until(lambda: len(agent.calls("session/resume")) == 2)
        await stage.until(lambda: all(tab.is_open for tab in stage.app.tabs))
        assert [each.params["sessionId"] for each in agent.calls("session/resume")] == ["one", "two"]
        await stage.shows("Logged in.")
        agent.die(9, "boom")
        await stage.shows("agent ended, F5 restarts it")


async def test_an_agent_that_dies_after_the_login_is_seen(tmp_path):
    agent = resumable()
    agent.on("session/new", AuthRequired())
    async with program(agent) as command, opened(command, tmp_path, version=1, ready=False) as stage:
        terminal(stage, 0)
        await until_offered(stage, "Here")
        agent.on("initialize", lambda asked: agent.die(7, "no more"))
        await stage.press("enter")
        await stage.shows("agent ended, F5 restarts it")
        await stage.type("still here")
        assert stage.prompt == "still here"


@pytest.mark.parametrize(("ways", "said"), [([], "This agent has no login methods."), (WAYS, "Here")])
async def test_login_says_when_there_is_nothing_to_choose(tmp_path, ways, said):
    agent = ScriptedAgent(1, authMethods=ways)
    async with program(agent) as command, opened(command, tmp_path, version=1) as stage:
        await stage.send("/login")
        await stage.shows(said)


KEY = VariableLogin(id="k", name="A \x1bkey", variables=[LoginVariable(name="ACME_KEY")], description="From acme.")
ODD = Unknown(tag="odd", raw={"methodId": "k", "name": "A \x1bkey", "description": "From acme.example."})


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (AgentLogin(id="a", name="By app", description="opens a browser"), "By app (a): opens a browser"),
        (TerminalLogin(id="t", name="Here"), "Here (t, in the terminal)"),
        (KEY, "A ␛key (k, by ACME_KEY in the environment): From acme."),
        (ODD, "A ␛key (not by accord: odd)"),
        (Unknown(tag="odd", raw={}), "A way (not by accord: odd)"),
    ],
)
def test_each_way_is_told_in_a_few_safe_words(method, words):
    assert login_method_text(method) == words


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (ODD, "this login is of a kind that accord can't carry out (odd). From acme.example."),
        (Unknown(tag="odd", raw={"vars": 5}), "this login is of a kind that accord can't carry out (odd)."),
    ],
)
def test_what_accord_can_not_do_is_explained(method, words):
    assert words in unsupported_login_advice(method)
