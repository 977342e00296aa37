"""Several questions at once, at a terminal: what is typed answers the one that was shown last."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.terminal import at_terminal

YES_OR_NO = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def permission(agent: ScriptedAgent, title: str) -> Any:
    call = {"toolCallId": title, "title": title}
    about = {"sessionId": agent.session_id, "toolCall": call, "options": YES_OR_NO}
    return agent.ask("session/request_permission", about)


def elicitation(agent: ScriptedAgent, title: str) -> Any:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("first", "second")}}
    about = {"sessionId": agent.session_id, "mode": "form", "message": title, "requestedSchema": schema}
    return agent.ask("elicitation/create", about)


@pytest.fixture(params=["run", "plain"])
def words(request: pytest.FixtureRequest) -> list[str]:
    return ["run", "Hi"] if request.param == "run" else ["--plain"]


async def begun(terminal: Any, words: list[str]) -> None:
    if words == ["--plain"]:
        await terminal.sees("You: ")
        terminal.type("Hi\n")


async def over(terminal: Any, run: asyncio.subprocess.Process, words: list[str]) -> None:
    if words == ["--plain"]:
        await terminal.sees("You: ")
        terminal.type("/quit\n")
    assert await run.wait() == 0


async def test_each_permission_is_answered_under_its_own_question(project, words):
    agent = ScriptedAgent(1)
    answers: list[Any] = []

    async def answer(asked: Any) -> None:
        answers.extend(await asyncio.gather(*(permission(agent, f"thing {number}") for number in range(3))))
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal(*words, "--", *command.args, cwd=project) as (terminal, run):
        await begun(terminal, words)
        for number, typed in enumerate("121"):
            await terminal.sees(f"May the agent thing {number} (other)?")
            assert "May the agent" not in terminal.shown
            await terminal.sees("1-2, or Enter for no: ")
            terminal.type("9\n")
            await terminal.sees("1-2, or Enter for no: ")
            terminal.type(f"{typed}\n")
            await terminal.sees(f"{'allowed' if typed == '1' else 'rejected'}: thing {number}")
        await over(terminal, run, words)
    assert [each.result["outcome"]["optionId"] for each in answers] == ["yes", "no", "yes"]


async def test_a_form_is_filled_in_before_the_next_question(project, words):
    agent = ScriptedAgent(1)
    answers: list[Any] = []

    async def answer(asked: Any) -> None:
        answers.extend(
            await asyncio.gather(elicitation(agent, "Who?"), elicitation(agent, "Where?"), permission(agent, "it"))
        )
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal(*words, "--", *command.args, cwd=project) as (terminal, run):
        await begun(terminal, words)
        for title in ("Who?", "Where?", "it (other)?"):
            await terminal.sees(title)
            for line in ("1",) if title.startswith("it") else ("a", "b"):
                await terminal.sees("no: " if title.startswith("it") else "> ")
                assert not any(other in terminal.shown for other in ("Who?", "May the", "Where?"))
                terminal.type(f"{line}\n")
        await over(terminal, run, words)
    filled = {"first": "a", "second": "b"}
    assert [each.result.get("content") for each in answers] == [filled, filled, None]


async def test_what_was_begun_to_be_typed_for_a_withdrawn_question_is_no_answer_to_the_next(project):
    agent = ScriptedAgent(1)
    answers: list[Any] = []
    withdrawn = asyncio.Event()

    async def answer(asked: Any) -> None:
        first, second = permission(agent, "first"), permission(agent, "second")
        await withdrawn.wait()
        agent.notify("$/cancel_request", {"requestId": first.id})
        answers.append(await second)
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_terminal("run", "Hi", "--", *command.args, cwd=project) as (terminal, run):
        await terminal.sees("May the agent first (other)?")
        await terminal.sees("no: ")
        terminal.type("1")
        await terminal.sees("1")
        withdrawn.set()
        await terminal.sees("May the agent second (other)?")
        await terminal.sees("no: ")
        terminal.type("\n")
        assert await run.wait() == ExitStatus.ALL_REJECTED
    assert answers[0].result["outcome"]["optionId"] == "no"


async def test_a_question_between_two_turns_is_asked_before_the_next_prompt(project):
    agent = ScriptedAgent(1)
    answers: list[Any] = []

    async def late(asked: Any) -> None:
        agent.finish(asked)
        answers.append(await permission(agent, "it"))

    agent.on("session/prompt", late, agent.reply("Done."))
    async with program(agent) as command, at_terminal("--plain", "--", *command.args, cwd=project) as (terminal, run):
        await begun(terminal, ["--plain"])
        await terminal.sees("May the agent it (other)?")
        await terminal.sees("no: ")
        terminal.type("1\n")
        await terminal.sees("allowed: it")
        await terminal.sees("You: ")
        terminal.type("Hi\n")
        await terminal.sees("Done.")
        await over(terminal, run, ["--plain"])
    assert answers[0].result["outcome"]["optionId"] == "yes"
