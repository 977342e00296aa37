"""What `accord run` says when it ends: what happened, in words, once, and what to do."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from accord import Client
from accord.apps.console.error_messages import AgentOutput, explain_error
from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import KnownAgent
from accord.errors import AuthRequired, ConnectionClosed, RequestFailed
from accord.session.capabilities import AgentLogin, LoginVariable, VariableLogin
from accord.testing import ScriptedAgent, program

AGENT = KnownAgent(name="a", command=["a"], source="config")


@pytest.mark.parametrize("words", [["-q"], ["--json"], ["--format", "v1"], []], ids=["quiet", "json", "v1", "text"])
@pytest.mark.parametrize(
    ("reason", "said"), [("refusal", "the agent refused"), ("max_tokens", "cut off"), ("cancelled", "was cancelled")]
)
async def test_a_turn_that_broke_off_is_said_in_every_output(typed, words, reason, said):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Well", stop_reason=reason))
    async with program(agent) as command:
        finished = await typed("run", *words, "Hi", "--", *command.args)
    assert finished.status in (ExitStatus.MAX_TOKENS, ExitStatus.REFUSAL, ExitStatus.CANCELLED)
    assert finished.err.count(said) == 1


@pytest.mark.skipif(shutil.which("cat") is None, reason="there is no cat")
async def test_what_only_says_again_what_it_is_told_is_no_agent(typed):
    finished = await typed("run", "-q", "Hi", "--", "cat")
    assert finished.status == ExitStatus.AGENT_GONE
    assert "it only says again what it is told" in finished.err
    assert "Does `cat` start it as an ACP agent?" in finished.err


async def test_a_turn_that_fails_with_its_connection_still_knows_why():
    agent = ScriptedAgent(1)
    async with Client(agent, version=1) as client:
        reply = (await client.new_session("/")).prompt("Hi")
        client.peer.connection_lost(ConnectionClosed("too much", kind="overloaded"))
        with pytest.raises(ConnectionClosed) as closed:
            await reply
    failed = explain_error(closed.value, "answering", AGENT, AgentOutput())
    assert "was ended, because it sent too much" in failed.reason


def test_a_reason_that_speaks_of_a_limit_is_no_flood():
    failed = explain_error(ConnectionClosed("it ended at the limit of its licence"), "answering", AGENT, AgentOutput())
    assert "sent too much" not in failed.reason


def test_advice_is_told_once():
    data: dict[str, Any] = {"reason": "model_failed", "advice": "Is a server running there?"}
    error = RequestFailed(-32603, "It can't be reached. Is a server running there?", data)
    failed = explain_error(error, "answering", AGENT, AgentOutput())
    assert failed.reason == "the agent 'a' failed while answering: It can't be reached (error -32603)"
    assert failed.advice == "Is a server running there?"


def test_the_advice_for_a_login_is_an_option_to_add():
    ways = [AgentLogin(id="key", name="A key", description="Set KEY.")]
    failed = explain_error(AuthRequired(), "opening a session", AGENT, AgentOutput(), ways)
    assert failed.advice == (
        "Choose one: A key (key): Set KEY. At a terminal you are asked, elsewhere add `--login key` to the options"
    )


def test_the_advice_for_a_login_by_a_variable_is_to_set_it():
    """To choose it would change nothing."""
    ways = [
        VariableLogin(
            id="key",
            name="A key",
            variables=[LoginVariable(name="KEY"), LoginVariable(name="ORG", optional=True)],
            link="https://keys.example",
        ),
        VariableLogin(id="token", name="A token", variables=[LoginVariable(name="TOKEN"), LoginVariable(name="HOST")]),
    ]
    failed = explain_error(AuthRequired(), "opening a session", AGENT, AgentOutput(), ways)
    assert failed.advice == ("Set KEY (see https://keys.example) or TOKEN and HOST in the environment and start again")


@pytest.mark.parametrize(("name", "status"), [("nope", 2), ("OFFLINE", 0)])
async def test_a_model_of_the_built_in_agent_is_chosen_by_its_name(typed, name, status):
    finished = await typed("run", "-q", "--model", name, "/help")
    assert finished.status == status
    assert ("the agent has no model 'nope'" in finished.err) == (status == 2)
