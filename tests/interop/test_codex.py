"""What is peculiar to Codex by its adapter; the story that all coding agents go through is in test_coding_agents.py."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from tests.interop.coding_agents import CODEX, CODEX_V1
from tests.interop.coding_scene import FOODS, Scene, playing

pytestmark = pytest.mark.interop

ASK, SHELL = (f"This is the prompt to {word}." for word in ("ask", "run"))


@pytest.fixture(params=[pytest.param(CODEX, id="v2"), pytest.param(CODEX_V1, id="v1")])
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    async with playing(request.param, tmp_path, monkeypatch) as scene:
        question = {"id": "food", "header": "Food", "question": "Which one?", "options": FOODS}
        scene.play(
            {
                ASK: [{"tool": "request_user_input", "arguments": {"questions": [question]}}],
                SHELL: [scene.agent.shell(f"echo from the shell; touch {scene.ran}")],
            }
        )
        yield scene


def result_of(scene: Scene) -> str:
    """Of the last tool, as the model is told."""
    return next(
        item["output"]
        for request in reversed(scene.server.requests)
        for item in reversed(request["body"]["input"])
        if item.get("type") == "function_call_output"
    )


async def test_its_questions_are_answered(scene: Scene) -> None:
    elicited: list[ElicitationRequest] = []
    answers = [ElicitationAnswer(action="accept", content={"food": "Bread"}), ElicitationAnswer(action="decline")]

    async def choose(asked: ElicitationRequest) -> ElicitationAnswer:
        elicited.append(asked)
        return answers[len(elicited) - 1]

    async with scene.client(on_elicitation=choose) as client:
        assert client.agent.version == (1 if scene.agent is CODEX_V1 else 2)
        session = await client.new_session(scene.project)
        for told in ({"food": {"answers": ["Bread"]}}, {}):
            assert (await session.prompt(ASK)).text == "So it is."
            assert json.loads(result_of(scene))["answers"] == told
    assert elicited[0].schema is not None
    assert elicited[0].schema["properties"]["food"]["title"] == "Which one?"


async def test_a_command_runs_only_if_it_is_allowed_and_tells_its_output(scene: Scene) -> None:
    """FN-93, FN-104"""
    frames: list[Any] = []
    async with scene.client(on_frame=lambda _, frame: frames.append(json.loads(frame))) as client:
        session = await client.new_session(scene.project)
        rejected = await session.prompt(SHELL)
        assert rejected.stop_reason == "cancelled"
        assert not scene.ran.exists()

        scene.decide = permissions.allow_all
        again = await client.new_session(scene.project)
        assert (await again.prompt(SHELL)).text == "So it is."
        assert scene.ran.exists()
        (call,) = session.transcript.tool_calls.values()
        assert call.status in ("failed", "cancelled")
        (call,) = again.transcript.tool_calls.values()
        assert call.status == "completed"
    assert [permissions.kind_of(asked) for asked in scene.questions] == ["execute", "execute"]
    assert "from the shell" in result_of(scene)
    if scene.agent is CODEX:
        (terminal,) = again.transcript.terminals.values()
        assert terminal.exit is not None
        assert (terminal.output, terminal.exit.code) == (b"from the shell\n", 0)
    else:
        assert told_in_meta(frames, again.id) == ("from the shell\n", 0)


def told_in_meta(frames: list[Any], session_id: str) -> tuple[str, Any]:
    """What a v1 agent tells of a command that it runs itself, beside the protocol: the output, and the exit code."""
    told = [frame["params"] for frame in frames if frame.get("method") == "session/update"]
    metas = [each["update"].get("_meta") or {} for each in told if each["sessionId"] == session_id]
    pieces = [meta.get("terminal_output") or meta.get("terminal_output_delta") or {} for meta in metas]
    (ended,) = [meta["terminal_exit"]["exit_code"] for meta in metas if "terminal_exit" in meta]
    return "".join(piece.get("data", "") for piece in pieces), ended


@pytest.mark.parametrize("scene", [CODEX], indirect=True, ids=["v2"])
async def test_what_a_command_writes_is_told_in_events(scene: Scene) -> None:
    finished = await scene.accord("run", "--agent", "codex", "--json", "--permissions", "allow-all", SHELL)
    assert (finished.status, finished.text) == (0, "So it is."), finished
    assert "".join(event["text"] for event in finished.events("terminal_output")) == "from the shell\n"
    assert finished.events("terminal")[-1]["exit"]["code"] == 0
