"""What is peculiar to Kimi Code CLI; the story that all coding agents go through is in test_coding_agents.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord import permissions
from accord.client.workspace.terminals import TerminalEvent
from accord.client.workspace.workspace import FileWrite, Workspace
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from tests.interop.coding_agents import KIMI
from tests.interop.coding_scene import FOODS, Scene, playing

pytestmark = pytest.mark.interop

READ, WRITE, ASK, SHELL, SLEEP = (f"This is the prompt to {word}." for word in ("read", "write", "ask", "run", "sleep"))


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    async with playing(KIMI, tmp_path, monkeypatch) as scene:
        question = {"question": "Which one?", "header": "Food", "options": FOODS, "multi_select": False}
        read = {"tool": "Read", "arguments": {"path": str(scene.note)}}
        scene.play(
            {
                READ: [read],
                WRITE: [read, {"tool": "Write", "arguments": {"path": str(scene.note), "content": "bread\n"}}],
                ASK: [{"tool": "AskUserQuestion", "arguments": {"questions": [question]}}],
                SHELL: [scene.agent.shell(f"echo from the shell; touch {scene.ran}")],
                SLEEP: [scene.agent.shell("echo sleeping; exec sleep 600")],
            }
        )
        yield scene


def results_of(scene: Scene) -> list[str]:
    """Of all tools of its session, as the model is told."""
    return [str(each["content"]) for each in scene.server.requests[-1]["body"]["messages"] if each["role"] == "tool"]


class Editor:
    """Has the note open, with changes that are not saved."""

    text = "unsaved\n"

    def __init__(self, note: Path) -> None:
        self._note = note

    def read(self, path: str) -> str | None:
        return self.text if Path(path) == self._note else None

    def write(self, path: str, text: str) -> bool:
        return False


async def test_it_reads_and_writes_through_its_client(scene: Scene) -> None:
    written: list[FileWrite] = []
    scene.decide = permissions.allow_all
    workspace = Workspace(buffers=Editor(scene.note), asks_first=True, on_write=written.append)
    async with scene.client(workspace) as client:
        session = await client.new_session(scene.project)
        assert (await session.prompt(READ)).text == "So it is."
        assert "unsaved" in results_of(scene)[-1]
        assert (await session.prompt(WRITE)).text == "So it is."
    assert [(each.path, each.content) for each in written] == [(str(scene.note), "bread\n")]
    assert scene.note.read_text() == "bread\n"
    assert [permissions.kind_of(asked) for asked in scene.questions] == ["edit"]


async def test_its_commands_run_in_terminals_of_its_client_and_are_asked_for_once(scene: Scene) -> None:
    async with Workspace(read=False, asks_first=True) as workspace, scene.client(workspace) as client:
        session = await client.new_session(scene.project)
        assert (await session.prompt(SHELL)).text == "So it is."
        assert (scene.ran.exists(), len(workspace.terminals)) == (False, 0)

        scene.decide = permissions.allow_all
        assert (await session.prompt(SHELL)).text == "So it is."
        (terminal,) = workspace.terminals.values()
        assert (terminal.output, terminal.exit and terminal.exit.code) == ("from the shell\n", 0)
        assert "from the shell" in results_of(scene)[-1]
        assert scene.ran.exists()
        rejected, allowed = session.transcript.tool_calls.values()
        assert (rejected.status, allowed.status) == ("failed", "completed")
    assert [permissions.kind_of(asked) for asked in scene.questions] == ["execute", "execute"]


async def test_a_command_ends_with_its_turn(scene: Scene) -> None:
    sleeping = asyncio.Event()

    def hear(event: TerminalEvent) -> None:
        if event.kind == "output":
            sleeping.set()

    scene.decide = permissions.allow_all
    async with Workspace(read=False, on_terminal=hear) as workspace, scene.client(workspace) as client:
        session = await client.new_session(scene.project)
        reply = session.prompt(SLEEP)
        await sleeping.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        (terminal,) = workspace.terminals.values()
        assert terminal.exit is not None
        assert terminal.is_gone


async def test_its_questions_are_answered(scene: Scene) -> None:
    elicited: list[ElicitationRequest] = []
    answers = [ElicitationAnswer(action="accept", content={"q0": "Bread"}), ElicitationAnswer(action="decline")]

    async def choose(asked: ElicitationRequest) -> ElicitationAnswer:
        elicited.append(asked)
        return answers[len(elicited) - 1]

    async with scene.client(on_elicitation=choose) as client:
        session = await client.new_session(scene.project)
        for told in ({"Which one?": "Bread"}, {}):
            assert (await session.prompt(ASK)).text == "So it is."
            assert json.loads(results_of(scene)[-1])["answers"] == told
    assert [asked.message for asked in elicited] == ["Which one?", "Which one?"]
