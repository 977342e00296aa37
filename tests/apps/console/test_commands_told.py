"""What is told of the commands that an agent runs through us, and of one that would not stop."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, Silent, faulty, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal


def running(agent: ScriptedAgent, line: str) -> Any:
    """A turn that asks for a line of shell and runs it through the client."""

    async def answer(asked: Any) -> None:
        about = {"sessionId": agent.session_id}
        call = {"toolCallId": "c", "title": "Run it", "kind": "execute", "rawInput": {"command": line}}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        await agent.ask("session/request_permission", {**about, "toolCall": call, "options": options})
        made = await agent.ask("terminal/create", {**about, "command": "sh", "args": ["-c", line]})
        await agent.ask("terminal/wait_for_exit", {**about, "terminalId": made.result["terminalId"]})
        agent.say("Ran.")
        agent.finish(asked)

    return answer


@pytest.mark.parametrize(
    ("line", "told"), [("exit 3", "exit 3"), ("true", "exit 0"), ("kill -9 $$", "ended by SIGKILL")]
)
async def test_run_tells_how_a_command_ended(typed, line, told):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", running(agent, f"echo something; {line}"))
    async with program(agent) as command:
        finished = await typed("run", "--permissions", "allow-all", "Hi", "--", *command.args)
    assert (finished.status, finished.out) == (0, "Ran.\n")
    assert f"something; {line}': {told}\n" in finished.err
    assert "\nsomething" not in finished.err


async def test_a_v2_agent_that_tells_how_its_command_ended_is_heard(typed):
    agent = ScriptedAgent(2)

    def answer(asked: Any) -> None:
        agent.begin(asked)
        agent.update("terminal_update", terminalId="t", command="make all", cwd="/w")
        for code in (3, 3):
            agent.update("terminal_update", terminalId="t", exitStatus={"exitCode": code})
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command:
        finished = await typed("run", "Hi", "--", *command.args)
    assert finished.err.count("$ make all: exit 3\n") == 1


async def test_the_plain_mode_shows_the_end_of_the_output_and_how_it_ended(project):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", running(agent, "seq 100; printf '\\033[2Jdone\\n'; exit 3"))
    async with program(agent) as command, at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Enter for no: ")
        terminal.type("1\n")
        await terminal.sees("Running: sh -c 'seq 100; ")
        await terminal.sees("exit 3'\r\n    … 61 lines before\r\n    62\r\n    63\r\n")
        await terminal.sees("    100\r\n    done\r\nEnded, exit 3: sh -c 'seq 100; ")
        await terminal.sees("Answer: Ran.")
        await terminal.sees("You: ")
        terminal.type("/quit\n")
        assert await run.wait() == 0


async def test_the_plain_mode_says_that_it_ended_an_agent_that_did_not_stop(project):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: agent.say("Working"))
    async with (
        program(faulty(agent, Silent("session/prompt"))) as command,
        at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run),
    ):
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Answer: Working")
        terminal.type("\x03")
        await agent.seen("session/cancel")
        await terminal.sees("stopping… (Ctrl-C again ends the agent)")
        terminal.type("\x03")
        await terminal.sees("was ended, because it did not stop")
        assert await run.wait() == ExitStatus.INTERRUPTED
        assert "closed by this side" not in terminal.shown


async def test_run_says_that_it_ended_an_agent_that_did_not_stop(start):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", lambda asked: agent.say("Working"))
    async with program(faulty(agent, Silent("session/prompt"))) as command:
        process = await start("run", "Hi", "--", *command.args)
        assert await process.stdout.readexactly(7) == b"Working"
        process.send_signal(signal.SIGINT)
        await agent.seen("session/cancel")
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode == ExitStatus.INTERRUPTED
    assert err.decode().count("was ended, because it did not stop") == 1
