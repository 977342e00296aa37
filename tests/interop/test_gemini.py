"""What is peculiar to Gemini CLI; the story that all coding agents go through is in test_coding_agents.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.interop.coding_agents import GEMINI
from tests.interop.coding_scene import GREET, Scene, playing, running_in

pytestmark = pytest.mark.interop


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    async with playing(GEMINI, tmp_path, monkeypatch) as scene:
        yield scene


async def test_accord_agents_tells_what_it_can_do(scene: Scene) -> None:
    finished = await scene.accord("agents", "gemini")
    assert finished.status == 0, finished
    assert f"Gemini CLI {GEMINI.version}, protocol version 1 (v1)" in finished.out
    for line in ("login: Gemini API key (gemini-api-key)", "mode yolo: YOLO", "option model = ", "/memory: "):
        assert line in finished.out, finished.out
    assert "load" in finished.out


async def test_its_models_and_modes_are_chosen_and_files_are_sent(scene: Scene) -> None:
    words = ("--agent", "gemini", "--model", "gemini-2.5-pro", "--mode", "plan", "--file", "note.txt")
    finished = await scene.accord("run", *words, GREET)
    assert (finished.status, finished.out) == (0, "Hello there.\n"), finished
    (asked,) = scene.server.requests
    assert "/models/gemini-2.5-pro:" in asked["path"]
    assert "milk" in str(asked["body"]["contents"][-1])
    assert "Plan Mode" in str(asked["body"]["systemInstruction"])


async def test_a_session_that_is_not_there_is_told_in_its_own_words(scene: Scene) -> None:
    finished = await scene.accord("run", "--agent", "gemini", "--session", "nonsense", GREET)
    assert finished.status == 1
    assert "No previous sessions found for this project" in finished.err


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
async def test_it_ends_with_the_process_that_it_starts_itself_again_in(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_CLI_NO_RELAUNCH")
    async with scene.client() as client:
        session = await client.new_session(scene.project)
        assert (await session.prompt(GREET)).text == "Hello there."
        assert len([command for command in running_in(scene.home).values() if command.endswith("gemini --acp ")]) == 2
    assert running_in(scene.home) == {}
