"""What is peculiar to Claude Code by its adapter; the story that all coding agents go through is in test_coding_agents.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord import Client, permissions
from accord.apps.console.errors import ExitStatus
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from tests.interop.coding_agents import CLAUDE, CLAUDE_V1
from tests.interop.coding_scene import FOODS, GREET, Scene, playing

pytestmark = pytest.mark.interop

DELEGATE, SUBTASK, ASK, SHELL = (f"This is the prompt to {word}." for word in ("delegate", "obey", "ask", "run"))


@pytest.fixture(params=[pytest.param(CLAUDE, id="v2"), pytest.param(CLAUDE_V1, id="v1")])
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    monkeypatch.delenv("ACCORD_STRICT", raising=False)  # it sends what is only proposed, too
    async with playing(request.param, tmp_path, monkeypatch) as scene:
        question = {"question": "Which one?", "header": "Food", "options": FOODS, "multiSelect": False}
        task = {"description": "Look around", "prompt": SUBTASK, "subagent_type": "general-purpose"}
        scene.play(
            {
                DELEGATE: [{"tool": "Agent", "arguments": {**task, "run_in_background": False}}],
                SUBTASK: scene.agent.write(scene.note, "butter\n"),
                ASK: [{"tool": "AskUserQuestion", "arguments": {"questions": [question]}}],
                SHELL: [scene.agent.shell("echo from the shell")],
            }
        )
        yield scene


def result_of(scene: Scene) -> Any:
    """Of the last tool, as the model is told."""
    return next(
        block["content"]
        for request in reversed(scene.server.requests)
        for message in reversed(request["body"]["messages"])
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    )


async def test_its_subagents_ask_and_its_questions_are_answered(scene: Scene) -> None:
    elicited: list[ElicitationRequest] = []

    async def choose(asked: ElicitationRequest) -> ElicitationAnswer:
        elicited.append(asked)
        return ElicitationAnswer(action="accept", content={"question_0": "Bread"})

    command = scene.agent.command(scene.project)
    async with Client(command, on_permission=permissions.allow_all, on_elicitation=choose) as client:
        assert client.agent.version == (1 if scene.agent is CLAUDE_V1 else 2)
        session = await client.new_session(scene.project)
        assert (await session.prompt(DELEGATE)).text == "So it is."
        assert scene.note.read_text() == "butter\n"
        told = {call.title: call.status for call in session.transcript.tool_calls.values()}
        assert told == {"Look around": "completed", "Write note.txt": "completed"}

        assert (await session.prompt(ASK)).text == "So it is."
        assert elicited[0].message == "Which one?"
        assert '"Which one?"="Bread"' in str(result_of(scene))


@pytest.mark.parametrize("scene", [CLAUDE], indirect=True, ids=["v2"])
async def test_what_a_command_writes_is_told_in_events(scene: Scene) -> None:
    finished = await scene.accord("run", "--agent", "claude", "--json", "--permissions", "allow-all", SHELL)
    assert (finished.status, finished.text) == (0, "So it is."), finished
    assert "".join(event["text"] for event in finished.events("terminal_output")) == "from the shell"


async def test_accord_agents_tells_what_it_can_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(CLAUDE, tmp_path, monkeypatch) as scene:
        finished = await scene.accord("agents", "claude")
        assert scene.server.requests == []
    assert finished.status == 0, finished
    assert f"Claude Agent {CLAUDE.version}, protocol version 2 (v2)" in finished.out
    for line in ("load, resume, list, ", "option mode = default of default, acceptEdits, plan", "/compact: "):
        assert line in finished.out, finished.out


async def test_without_a_key_it_wants_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(CLAUDE, tmp_path, monkeypatch) as scene:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        finished = await scene.accord("run", "--agent", "claude", GREET)
    assert finished.status == ExitStatus.LOGIN_NEEDED
    assert "the agent 'claude' wants a login first" in finished.err
