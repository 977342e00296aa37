"""Agents that can't be started, say nothing, say nonsense or die: what is said about it, and with which status."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from accord.apps.console.agent_process import AgentCallbacks, AgentProcess
from accord.apps.console.error_messages import LONG_FRAME_MESSAGE, AgentOutput, explain_error
from accord.apps.console.errors import ExitStatus
from accord.apps.console.known_agents import KnownAgent
from accord.errors import DeadlineExceeded, FrameRejected, Overloaded, RateLimited
from accord.testing import AnswersFirst, Dies, Noisy, ScriptedAgent, faulty, program
from accord.transports.framing import FRAME_LIMIT, frame_too_long


def script(directory: Any, text: str, mode: int = 0o755) -> str:
    file = directory / "agent.sh"
    file.write_text(text)
    file.chmod(mode)
    return str(file)


async def test_an_agent_that_is_not_there(typed):
    finished = await typed("run", "Hi", "--", "no-such-agent-anywhere")
    assert finished.status == ExitStatus.NOT_FOUND
    assert "its program 'no-such-agent-anywhere' is not on PATH" in finished.err


async def test_a_preset_that_is_not_installed_says_how_to_install_it(typed, tmp_path):
    finished = await typed("run", "--agent", "goose", "Hi", env={**os.environ, "PATH": str(tmp_path)})
    assert finished.status == ExitStatus.NOT_FOUND
    assert "See https://block.github.io/goose" in finished.err


async def test_a_file_that_is_not_executable(typed, tmp_path):
    finished = await typed("run", "Hi", "--", script(tmp_path, "#!/bin/sh\n", 0o644))
    assert finished.status == ExitStatus.NOT_EXECUTABLE
    assert "chmod +x" in finished.err


async def test_a_script_whose_interpreter_is_not_there(typed, tmp_path):
    finished = await typed("run", "Hi", "--", script(tmp_path, "#!/no/such/interpreter\n"))
    assert finished.status == ExitStatus.NOT_EXECUTABLE
    assert "interpreter not found" in finished.err


async def test_an_agent_that_exits_at_once_has_its_last_words_shown(typed):
    finished = await typed("run", "--json", "Hi", "--", "sh", "-c", "echo 'bad \x1b[2J key' >&2; exit 3")
    assert finished.status == ExitStatus.AGENT_GONE
    assert "the agent 'sh' ended with exit code 3 before it said anything" in finished.err
    assert "    bad  key" in finished.err.splitlines()
    assert finished.event("end")["error"]["last_words"].strip() == "bad  key"


async def test_an_agent_that_only_prints_garbage_is_told_by_it(typed):
    finished = await typed("run", "Hi", "--", "sh", "-c", "echo Welcome to Foo; exit 0")
    assert finished.status == ExitStatus.AGENT_GONE
    assert "what it wrote to stdout is no ACP" in finished.err
    assert "    Welcome to Foo" in finished.err.splitlines()


async def test_an_agent_that_never_stops_printing_garbage_is_ended(typed):
    finished = await typed("run", "Hi", "--", "yes")
    assert finished.status == ExitStatus.AGENT_GONE
    assert "the agent 'yes' prints something that is not ACP, so it was ended" in finished.err
    assert "beginning with 'y', 'y', 'y'" in finished.err
    assert "Does `yes` start it as an ACP agent?" in finished.err


async def test_an_agent_that_never_answers_is_given_up(typed):
    finished = await typed("run", "--timeout", "0.5", "Hi", "--", "sleep", "60")
    assert finished.status == ExitStatus.TIMEOUT
    assert "the agent 'sleep' did not answer `initialize` within 0.5 s" in finished.err
    assert "Does `sleep 60` start it as an ACP agent?" in finished.err


async def test_an_agent_that_dies_in_the_middle_of_a_turn(typed, version):
    agent = ScriptedAgent(version)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.say("Let me")
        agent.die(7, "out of coffee")

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (ExitStatus.AGENT_GONE, "Let me\n")
    assert "is gone while answering the prompt" in finished.err
    assert "exit code 7" in finished.err
    assert "--continue" in finished.err
    assert "    out of coffee" in finished.err.splitlines()


async def test_an_agent_that_dies_in_the_middle_of_a_frame(typed):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello"))
    dying = faulty(agent, Dies(after="session/update", torn=True, exit_code=1, stderr="Killed"))
    async with program(dying) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (ExitStatus.AGENT_GONE, "")
    assert "Killed" in finished.err


async def test_noise_between_the_frames_costs_nothing(typed, monkeypatch):
    """FN-102: noise on stdout before the first frame, and a start that takes a moment."""
    monkeypatch.delenv("ACCORD_STRICT", raising=False)
    agent = ScriptedAgent(1)

    async def slowly(asked: Any) -> Any:
        await asyncio.sleep(1.8)  # longer than a start that needs no word
        return {"protocolVersion": 1, "agentCapabilities": {}}

    agent.on("initialize", slowly)
    agent.on("session/prompt", agent.reply("Hello"))
    async with program(faulty(agent, Noisy(b"npm warn deprecated"))) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "Hello\n")
    assert "starting 'python" in finished.err
    assert "npm warn" not in finished.err


async def test_updates_that_come_after_the_answer_are_printed(typed):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello"))
    async with program(faulty(agent, AnswersFirst())) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "Hello\n")


async def test_an_agent_that_wants_a_login_names_the_ways(typed, version):
    way = {"id": "key", "name": "A key"} if version == 1 else {"type": "agent", "methodId": "key", "name": "A key"}
    agent = ScriptedAgent(version, authMethods=[way])
    agent.on("session/new", lambda asked: asked.fail(-32000, "Authentication required"))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.LOGIN_NEEDED
    assert "wants a login first" in finished.err
    assert "A key (key)" in finished.err
    assert "--login key" in finished.err


async def test_the_way_that_was_named_is_gone(typed):
    agent = ScriptedAgent(1, authMethods=[{"id": "key", "name": "A key"}])
    is_in = False

    def log_in(asked: Any) -> Any:
        nonlocal is_in
        is_in = True
        return {}

    def new(asked: Any) -> Any:
        if is_in:
            return {"sessionId": "s"}
        asked.fail(-32000, "Authentication required")
        return None

    agent.on("authenticate", log_in)
    agent.on("session/new", new)
    agent.on("session/prompt", agent.reply("In"))
    async with program(agent) as command:
        finished = await typed("run", "--login", "key", "Hi", "--", *command.args)
        wrong = await typed("run", "--login", "door", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "In\n")
    assert wrong.status == 0  # by then it is logged in, and no way is needed
    assert agent.calls("authenticate")[0].params["methodId"] == "key"


async def test_a_way_to_log_in_that_there_is_not(typed):
    agent = ScriptedAgent(1, authMethods=[{"id": "key", "name": "A key"}])
    agent.on("session/new", lambda asked: asked.fail(-32000, "Authentication required"))
    async with program(agent) as command:
        finished = await typed("run", "--login", "door", "Hi", "--", *command.args)
    assert finished.status == 1
    assert "the agent has no login 'door', only 'key'" in finished.err


async def test_an_agent_of_a_version_that_nobody_has(typed):
    agent = ScriptedAgent(2, protocolVersion=7)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.AGENT_GONE
    assert "speaks another version of the protocol" in finished.err
    assert "accord speaks v1 and v2" in finished.err


@pytest.mark.parametrize(
    ("code", "data"),
    [(400, None), (-32603, {"advice": "Set KEY"}), (-32029, {"reason": "rate_limited", "retryAfter": 5})],
)
async def test_a_failed_model_call_is_shown_as_what_it_is(typed, version, code, data):
    """FN-94: a failed model call comes as an error with an odd code; the advice that it carries is shown."""
    agent = ScriptedAgent(version)
    agent.on("session/prompt", lambda asked: asked.fail(code, "The model said no", data))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == 1
    assert "The model said no" in finished.err
    assert {400: "error 400", -32603: "Set KEY", -32029: "Retry in 5 s"}[code] in finished.err


async def test_a_model_call_that_fails_as_a_refusal_is_shown_as_one(typed, version):
    """FN-94: `refusal` in place of an error; what the agent said is printed, the status tells."""
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply("API error 529", stop_reason="refusal"))
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (ExitStatus.REFUSAL, "API error 529\n")
    assert "refus" in finished.err


async def test_an_agent_that_begins_to_print_garbage_in_a_turn_is_ended(typed):
    agent = ScriptedAgent(1)

    def babble(asked: Any) -> None:
        for _ in range(1100):
            agent.send(b"DEBUG: tick")

    agent.on("session/prompt", babble)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.status == ExitStatus.AGENT_GONE
    assert "prints something that is not ACP" in finished.err
    assert "'DEBUG: tick'" in finished.err
    assert "Report this to those who make it" in finished.err


@pytest.mark.parametrize("only", [1, 2])
async def test_an_agent_of_one_version_is_understood(typed, only):
    agent = ScriptedAgent(only)
    agent.on("session/prompt", agent.reply("Hello"))
    async with program(agent) as command:
        finished = await typed("run", "-q", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "Hello\n")


async def test_a_flood_on_stderr_is_read_and_its_end_is_shown(typed):
    script = "import sys\nfor _ in range(100000): print('noise', file=sys.stderr)\nprint('the cause', file=sys.stderr)"
    finished = await typed("run", "Hi", "--", sys.executable, "-c", script)
    assert finished.status == ExitStatus.AGENT_GONE
    assert finished.err.rstrip().endswith("the cause")
    assert finished.err.count("noise") < 30


async def test_a_message_that_is_too_long_is_skipped_and_told():
    told: list[str] = []
    async with program(ScriptedAgent(1)) as command:
        known = KnownAgent(name="chatty", command=command.args, source="command")
        callbacks = AgentCallbacks(on_long_frame=lambda: told.append(LONG_FRAME_MESSAGE))
        async with AgentProcess(known, command, callbacks) as process:
            process.client.peer.frame_rejected(frame_too_long(FRAME_LIMIT))
            process.client.peer.frame_rejected(FrameRejected("it is no frame"))
    assert told == ["the agent sent more than 64 MiB in one message, which was skipped; something is missing here"]


async def test_a_flood_of_updates_arrives_whole(typed, version):
    agent = ScriptedAgent(version)
    agent.on("session/prompt", agent.reply(*["0123456789"] * 5000))
    async with program(agent) as command:
        finished = await typed("run", "-q", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "0123456789" * 5000 + "\n")


async def test_what_can_not_be_made_to_happen_quickly_is_explained_too():
    known, output = KnownAgent(name="slow", command=["slow"], source="config"), AgentOutput()
    late = explain_error(DeadlineExceeded("initialize", 60), "starting", known, output)
    assert (late.status, late.reason) == (
        ExitStatus.TIMEOUT,
        "the agent 'slow' did not answer `initialize` within 60 s",
    )
    stuck = explain_error(DeadlineExceeded("session/cancel", 10), "answering", known, output)
    assert "so it was ended" in stuck.reason
    flood = explain_error(Overloaded("open requests", 65536), "answering", known, output)
    assert (flood.status, "broke the protocol" in flood.reason) == (ExitStatus.AGENT_GONE, True)
    limited = explain_error(RateLimited(3), "answering", known, output)
    assert limited.advice == "Retry in 3 s"
