"""Habits of agents that many people have, as far as `accord run` is concerned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.error_messages import AgentOutput, explain_error
from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.screen.errors import agent_error_block
from accord.apps.console.screen.key_bindings import KeyBindings
from accord.client.target import Command
from accord.errors import ConnectionClosed, DeadlineExceeded
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import opened
from tests.apps.console.terminal import left, plainly, prompted
from tests.apps.console.test_run import asking

AGENT = KnownAgent(name="a", command=["a", "--acp"], source="config")


async def test_the_details_of_an_internal_error_are_told(typed):
    agent = ScriptedAgent(1)
    agent.on("session/new", lambda asked: asked.fail(-32603, "Internal error", {"details": "no key \x1b[2J"}))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.FAILED
    assert "Internal error: no key ␛[2J (error -32603)" in finished.err


REASONS: list[Any] = [
    {"message": "No key for xai"},  # grok
    "No key for xai",  # codex-acp-zed
    {"error": {"message": "No key for xai", "status": 401}},
    ["No key for xai"],
    {"codexErrorInfo": {"other": {"msg": "\x1b[31mNo\x1b[0m key for xai"}}},
]


@pytest.mark.parametrize("data", REASONS, ids=str)
@pytest.mark.parametrize("code", [-32603, -32000])
async def test_the_reason_in_the_data_of_an_error_is_told_whatever_its_shape(typed, data, code):
    """FN-107: in lines and as events."""
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: asked.fail(code, "Something broke", data))
    async with program(agent) as command:
        in_lines = await typed("run", "Hi", "--", *command.args)
        as_events = await typed("run", "--json", "Hi", "--", *command.args)
    assert in_lines.status == as_events.status == (ExitStatus.LOGIN_NEEDED if code == -32000 else ExitStatus.FAILED)
    reason = as_events.event("end")["error"]["reason"]
    for told in (in_lines.err, as_events.err, reason):
        assert "Something broke: " in told
        assert "No key for xai" in told
        assert "␛" not in told
    assert "\x1b" not in reason


COLOURED = (
    "\x1b]0;my agent\x07\x1b[31mKeyError\x1b[0m: \x1b]8;;https://a.b\x1b\\MODEL\x1b]8;;\x1b\\\r\n\x1b[2K10%\r99%\n"
)


@pytest.mark.parametrize("ends", ["before the handshake", "in a turn"])
async def test_colours_and_other_sequences_on_stderr_are_left_out(typed, tmp_path, ends):
    script = tmp_path / "agent.py"
    script.write_text(_AGENT_THAT_COMPLAINS)
    words = ("Hi", "--", sys.executable, str(script), ends)
    in_lines, as_events = await typed("run", *words), await typed("run", "--json", *words)
    assert in_lines.status == as_events.status != 0
    for told in (in_lines.err, as_events.err, as_events.event("end")["error"]["last_words"]):
        assert [line.strip() for line in told.splitlines()][-2:] == ["KeyError: MODEL", "99%"]
    assert not set("\x1b␛␍␇") & set(in_lines.err + as_events.err + as_events.out)


_AGENT_THAT_COMPLAINS = f"""
import json, sys
def complain():
    sys.stderr.write({COLOURED!r})
    sys.stderr.flush()
if sys.argv[1] == "before the handshake":
    complain()
    sys.exit(3)
answers = {{"initialize": {{"protocolVersion": 1}}, "session/new": {{"sessionId": "s"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        complain()
        sys.exit(3)
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}}), flush=True)
"""


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


class TestTheAdviceToCheckTheCommand:
    """It is given only where nothing of the protocol was heard."""

    CHECK = "start it as an ACP agent?"

    @pytest.mark.parametrize("method", ["session/new", "session/set_model", "session/prompt"])
    async def test_is_not_given_for_an_answer_that_can_not_be_read(self, typed, method):
        agent = ScriptedAgent(1)
        models = {"currentModelId": "a", "availableModels": [{"modelId": "b", "name": "B"}]}
        agent.on("session/new", lambda asked: {"sessionId": "s", "models": models})
        agent.on("session/prompt", agent.reply("Hi."))
        agent.on("session/set_model", lambda asked: {})
        agent.on(method, lambda asked: 5)
        async with program(agent) as command:
            finished = await typed("run", "--model", "b", "Hi", "--", *command.args)
        assert finished.status == ExitStatus.AGENT_GONE
        assert "broke the protocol" in finished.err
        assert "Report this to those who make it" in finished.err
        assert self.CHECK not in finished.err

    async def test_is_not_given_to_who_speaks_the_protocol_and_does_not_answer(self):
        output = AgentOutput()
        output.add_frame("received", b'{"jsonrpc":"2.0","method":"_acme/starting"}')
        failed = explain_error(DeadlineExceeded("initialize", 60), "starting", AGENT, output)
        assert "did not answer `initialize` within 60 s" in failed.reason
        assert self.CHECK not in failed.advice

    @pytest.mark.parametrize("line", [b"Welcome!", b'{"level":"info","msg":"listening"}', b"[12:00:00] up", b"[]"])
    @pytest.mark.parametrize("error", [ConnectionClosed("it ended", 0), DeadlineExceeded("initialize", 60)], ids=str)
    async def test_is_given_for_other_output(self, line, error):
        output = AgentOutput()
        output.add_frame("received", line)
        failed = explain_error(error, "starting", AGENT, output)
        assert "what it wrote to stdout is no ACP" in failed.reason
        assert self.CHECK in failed.advice
        assert failed.last_words.strip() == line.decode()
        assert "look for its flag for ACP" in agent_error_block(error, "starting", AGENT, output, KeyBindings()).advice


def named(name: str, **answers: Any) -> ScriptedAgent:
    """An agent of v1 that gives this name."""
    return ScriptedAgent(1, agentInfo={"name": name, "version": "1"}, **answers)


def reading(agent: ScriptedAgent, path: str, answers: list[Any]) -> Any:
    """A turn in which a file is read, as before it is written."""

    async def answer(asked: Any) -> None:
        read = await agent.ask("fs/read_text_file", {"sessionId": agent.session_id, "path": path})
        answers.append(read)
        agent.finish(asked)

    return answer


class TestAnAgentThatSaysWhoItIs:
    @pytest.mark.parametrize("name", ["gemini-cli", "Kimi Code CLI", "kimi"])
    @pytest.mark.parametrize("how", ["run", "plain", "screen"])
    async def test_gets_what_it_needs_though_another_program_starts_it(self, typed, project, name, how):
        """FN-95: gemini and kimi take the answer that a file does not exist for a failure, and could create none."""
        agent, answers = named(name), []
        agent.on("session/prompt", reading(agent, str(project / "new.txt"), answers))
        async with program(agent) as command:
            await _prompted(how, command, typed, project)
        assert answers[0].result == {"content": ""}
        assert answers[0].error is None

    @pytest.mark.parametrize("how", ["run", "screen"])
    async def test_and_is_another_one_is_told_that_a_file_does_not_exist(self, typed, project, how):
        agent, answers = named("other"), []
        agent.on("session/prompt", reading(agent, str(project / "new.txt"), answers))
        async with program(agent) as command:
            await _prompted(how, command, typed, project)
        assert answers[0].error["code"] == -32002

    async def test_is_called_by_that_name_in_a_run(self, typed):
        agent = named("fast-agent")
        agent.on("session/prompt", lambda asked: asked.fail(-32603, "No model"))
        async with program(agent) as command:
            finished = await typed("run", "Hi", "--", *command.args)
        assert "the agent 'fast-agent' failed while answering the prompt: No model" in finished.err

    async def test_is_called_by_that_name_line_by_line(self, project):
        agent = named("fast-agent")
        agent.on("session/prompt", agent.reply("Hi."))
        async with program(agent) as command, plainly(command, cwd=project) as (terminal, accord):
            await terminal.sees("This is fast-agent. ")
            await left(terminal, accord)

    async def test_is_called_by_that_name_on_the_screen(self, tmp_path):
        agent = named("fast-agent")
        known = KnownAgent(name="node", command=["node", "agent.js"], source="command")
        async with opened(agent, tmp_path, version=1, known=known) as stage:
            await stage.shows("fast-agent  1  in", "● ready  fast-agent")
            assert "fast-agent" in stage.titles[-1]
            assert "node" not in stage.text

    async def test_is_called_by_that_name_among_its_sessions(self, typed):
        agent = named("fast-agent", agentCapabilities={"sessionCapabilities": {"list": {}}})
        agent.on("session/list", {"sessions": []})
        async with program(agent) as command:
            finished = await typed("sessions", "--", *command.args)
        assert "The agent 'fast-agent' has kept no session" in finished.out


async def _prompted(how: str, command: Any, typed: Any, project: Path) -> None:
    """One prompt, to its end."""
    match how:
        case "run":
            await typed("run", "Hi", "--permissions", "allow-all", "--", *command.args)
        case "plain":
            async with plainly(command, cwd=project) as (terminal, accord):
                await prompted(terminal)
                await left(terminal, accord)
        case _:
            known = KnownAgent(name="python", command=command.args, source="command")
            async with opened(Command(command.args), project, version=1, known=known) as stage:
                await stage.send("Hi")
                await stage.idle()
