"""Agents of ours with acpx as their client: `accord agent` with a model behind it, and one that is made with the SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conversations.story import STORY, TEXT
from tests.interop.acpx_client import DENIED, Acpx, using
from tests.interop.coding_agents import CODER, settle
from tests.interop.coding_scene import BOTH, BREAD, CREATE, GREET, THANK, WAIT, Scene, playing
from tests.interop.official_client import PROGRAM

pytestmark = pytest.mark.interop


class TestCoder:
    @pytest.fixture
    async def scene(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
        async with playing(CODER, tmp_path, monkeypatch) as scene:
            yield scene

    @pytest.fixture
    async def acpx(self, scene: Scene) -> AsyncIterator[Acpx]:
        async with using(CODER.command(scene.project).args, scene.project, scene.home) as acpx:
            yield acpx

    async def test_it_does_what_is_allowed_through_its_client(self, acpx: Acpx, scene: Scene) -> None:
        baked = await acpx("--approve-all", "exec", BREAD)
        assert (baked.status, baked.text) == (0, "Bread it is.")
        assert scene.note.read_text() == "bread\n"
        assert [method for method in baked.methods if method.startswith("fs/")][-1] == "fs/write_text_file"

        both = await acpx("--approve-all", "exec", BOTH)
        assert (both.status, both.text) == (0, "One of them.")
        assert both.methods.count("session/request_permission") == 2
        assert "terminal/create" in both.methods
        assert scene.ran.exists()

        denied = await acpx("--deny-all", "exec", CREATE)
        assert (denied.status, denied.text, scene.new.exists()) == (DENIED, "There is one more.", False)
        assert "session/request_permission" in denied.methods
        assert "fs/write_text_file" not in denied.methods

    async def test_a_session_is_cancelled_and_taken_up_again(self, acpx: Acpx, scene: Scene) -> None:
        opened = await acpx("sessions", "new")
        session_id = opened.frames[0]["acpxSessionId"]
        greeted = await acpx("prompt", GREET)
        assert (greeted.status, greeted.text, greeted.stop_reason) == (0, "Hello there.", "end_turn")
        stopped = await acpx.prompt_and_cancel(WAIT, "think")
        assert stopped.stop_reason == "cancelled"
        assert (await acpx("prompt", THANK)).text == "You are welcome."
        await acpx("sessions", "close")

        await acpx("sessions", "new", "--resume-session", session_id)
        again = await acpx("--approve-all", "prompt", BREAD)
        assert (again.status, again.text) == (0, "Bread it is.")
        assert "session/resume" in again.methods
        history = json.dumps(scene.server.requests[-1]["body"])
        assert GREET in history
        assert "You are welcome." in history
        await acpx("sessions", "close")


class TestMadeWithTheSdk:
    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = tmp_path / "home"
        settle(home, CODER.programs, monkeypatch)
        (home / ".acpx").mkdir()
        (home / ".acpx" / "config.json").write_text('{"auth": {"key": "none"}}')  # the agent wants a login
        return home

    @pytest.fixture
    def file(self, place: Path) -> Path:
        file = place / Path(STORY["file"]["path"]).name
        file.write_text(STORY["file"]["before"], encoding="utf-8")
        return file

    @pytest.fixture
    async def acpx(self, home: Path, file: Path) -> AsyncIterator[Acpx]:
        command = [sys.executable, str(PROGRAM), "--load-only", str(home / "store.db")]
        async with using(command, file.parent, home) as acpx:
            yield acpx

    async def test_it_tells_its_story_and_does_what_is_allowed_through_its_client(self, acpx: Acpx, file: Path) -> None:
        told = await acpx("--approve-all", "exec", "story")
        assert (told.status, told.text, told.stop_reason) == (0, TEXT, "end_turn")
        assert content(file) == STORY["file"]["after"]
        asked = [method for method in told.methods if method.partition("/")[0] in ("fs", "terminal")]
        assert asked[:3] == ["fs/read_text_file", "fs/write_text_file", "terminal/create"]
        assert sorted(asked[3:]) == ["terminal/output", "terminal/release", "terminal/wait_for_exit"]

        answers = [await acpx(policy, "exec", "permit all") for policy in ("--approve-all", "--deny-all")]
        assert [(answer.status, answer.text) for answer in answers] == [(0, "yes"), (DENIED, "no")]

    async def test_a_session_is_cancelled_and_loaded(self, acpx: Acpx) -> None:
        opened = await acpx("sessions", "new")
        assert (await acpx("prompt", "many 3")).text == "0 1 2 "
        assert await waited(acpx) == "call-wait"
        await acpx("sessions", "close")

        await acpx("sessions", "new", "--resume-session", opened.frames[0]["acpxSessionId"])
        again = await acpx("prompt", "many 2")
        assert (again.status, again.text) == (0, "0 1 ")
        assert "session/load" in again.methods
        assert await waited(acpx) == "call-wait-1"  # it knows of the first one
        await acpx("sessions", "close")


def content(file: Path) -> str:
    return file.read_text(encoding="utf-8")


async def waited(acpx: Acpx) -> str:
    """The tool call of a turn that does nothing but wait, and is cancelled."""
    stopped = await acpx.prompt_and_cancel("wait", "in_progress")
    assert stopped.stop_reason == "cancelled"
    (end,) = [each for each in stopped.updates(after="session/prompt") if each.get("status") == "failed"]
    return end["toolCallId"]
