"""The terminal client with agents that nobody scripted: the built-in one, and those of the official SDKs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from textual.events import Paste

from accord import Command
from accord.apps.console.errors import ExitStatus
from tests.apps.console.screen.stage import Stage, opened
from tests.conversations.story import STORY, TEXT
from tests.interop.official_agents import PYTHON, TYPESCRIPT_V1, TYPESCRIPT_V2, OfficialAgent
from tests.interop.typescript_peer import need_node

OFFICIAL = PYTHON.args
EVERY_OFFICIAL = [
    pytest.param(PYTHON, id="python-v1"),
    pytest.param(TYPESCRIPT_V1, id="typescript-v1", marks=pytest.mark.interop),
    pytest.param(TYPESCRIPT_V2, id="typescript-v2", marks=pytest.mark.interop),
]


class TestTheBuiltInAgent:
    async def test_alone_and_without_a_terminal_accord_explains_where_it_is(self, typed):
        finished = await typed()
        assert finished.status == 0, finished.err
        assert "> /explain" in finished.out
        assert "not a language model" in finished.out
        assert "In a terminal it opens a screen" in finished.err

    async def test_alone_in_a_pipe_it_answers_what_it_reads(self, typed):
        finished = await typed(stdin=b"/read notes.md\n")
        assert finished.status == 0, finished.err
        assert "> /read notes.md" in finished.out
        assert "    Buy milk." in finished.out.splitlines()

    async def test_a_stdin_that_says_nothing_does_not_hold_it_up(self, typed):
        reader, writer = os.pipe()
        try:
            finished = await typed(held_open=reader)
        finally:
            os.close(writer)
            os.close(reader)
        assert finished.status == 0, finished.err
        assert "> /explain" in finished.out

    async def test_a_file_is_changed_only_when_that_was_allowed(self, typed, project):
        words = ("run", "--json", "/edit notes.md milk => bread")
        refused = await typed(*words)
        assert "milk" in (project / "notes.md").read_text()
        assert refused.event("permission")["allowed"] is False
        allowed = await typed(*words, "--permissions", "allow-edits")
        assert allowed.event("permission")["allowed"] is True
        assert allowed.status == 0
        assert "bread" in (project / "notes.md").read_text()

    async def test_a_session_goes_on_in_the_next_process(self, typed, project):
        first = await typed("run", "--json", "/read notes.md")
        second = await typed("run", "--json", "--continue", "/explain")
        assert second.event("start")["session_id"] == first.event("start")["session_id"]
        assert second.event("start")["resumed"] is True
        listed = await typed("sessions", "--cwd", project)
        assert listed.out.startswith(first.event("start")["session_id"])

    async def test_a_model_that_it_does_not_have_is_refused(self, typed):
        finished = await typed("run", "--model", "nonsense", "Hi")
        assert finished.status == ExitStatus.USAGE
        assert "the agent has no model 'nonsense'" in finished.err

    async def test_a_module_of_the_project_is_not_taken_for_ours(self, typed, project):
        (project / "msgspec.py").write_text("raise SystemExit('hijacked')")
        (project / "json.py").write_text("raise SystemExit('hijacked')")
        other = project / "elsewhere"
        other.mkdir()
        finished = await typed("run", "--cwd", project, "/read notes.md", cwd=other)
        assert finished.status == 0, finished.err

    async def test_it_tells_what_it_can_do(self, typed):
        shown = await typed("agents", "accord")
        assert shown.status == 0
        assert "protocol version 2 (v2)" in shown.out
        assert "option mode = ask of ask, architect, code" in shown.out
        assert "/explain: " in shown.out
        looked = msgspec.json.decode((await typed("agents", "accord", "--json")).out)
        assert looked["agent"] == "accord"
        assert "resume" in looked["capabilities"]
        assert (await typed("sessions")).out == "The agent 'accord' has kept no session.\n"


class TestTheOfficialAgent:
    async def test_a_whole_story_with_files_a_permission_and_a_terminal(self, typed, project):
        file = project / Path(STORY["file"]["path"]).name
        file.write_text(STORY["file"]["before"])
        finished = await typed("run", "--json", "--permissions", "allow-all", "story", "--", *OFFICIAL)
        assert finished.status == 0, finished.err
        assert file.read_text() == STORY["file"]["after"]
        said = "".join(event["text"] for event in finished.events if event["type"] == "text")
        assert said == "".join(STORY["message"])
        assert finished.event("usage")["used"] == STORY["usage"]["used"]
        assert finished.event("info")["title"] == STORY["title"]

    async def test_it_tells_what_it_can_do(self, typed):
        shown = await typed("agents", "--", *OFFICIAL)
        assert "protocol version 1 (v1)" in shown.out
        assert "mode quick: Quick" in shown.out


@pytest.fixture(params=EVERY_OFFICIAL)
def official(request: pytest.FixtureRequest) -> OfficialAgent:
    if not request.param.is_python:
        need_node()
    return request.param


class TestEveryOfficialAgent:
    async def test_a_permission_is_given_or_not_by_run(self, typed, official):
        for choice, allowed, status in (("allow-all", True, 0), ("reject", False, ExitStatus.ALL_REJECTED)):
            words = ("run", "--json", "--permissions", choice, "permission")
            finished = await typed(*words, "--", *official.args)
            assert finished.event("permission")["allowed"] is allowed
            assert finished.status == status, finished

    async def test_a_turn_that_takes_too_long_is_cancelled_by_run(self, typed, official):
        for seconds in ("3", "10", "25"):  # on a busy machine the agent may still be starting
            finished = await typed("run", "--json", "--timeout", seconds, "wait", "--", *official.args)
            assert finished.status == ExitStatus.TIMEOUT, finished
            if any(event["type"] == "tool_call" for event in finished.events):
                break
        assert finished.event("tool_call")["title"] == "Wait"
        assert finished.event("end")["stop_reason"] == "cancelled"

    async def test_the_screen_asks_and_stops(self, official, project):
        async with opened(Command(official.args), project) as stage:
            await stage.send("permission")
            await stage.asked()
            await stage.shows(STORY["edit"]["title"])
            await stage.press("y")
            await stage.idle()
            assert "stopped" not in stage.conversation
            await stage.send("permission")
            await stage.asked()
            await stage.press("escape")
            await stage.shows("the agent stopped: cancelled")
            await stage.idle()
            await stage.send("wait")
            await stage.shows("◐ • Wait")
            await stage.press("escape")
            await stage.shows("● ready", "─ stopped ─")

    async def test_the_screen_shows_a_whole_story(self, official, project):
        file = project / Path(STORY["file"]["path"]).name
        file.write_text(STORY["file"]["before"])
        async with opened(Command(official.args), project, size=(100, 60)) as stage:
            await stage.send("story")
            await stage.asked()
            await stage.press("y")
            if official.version == 2:
                await answer_the_question(stage)
            else:
                await stage.until(lambda: file.read_text() == STORY["file"]["after"])
            await stage.idle()
            assert TEXT.splitlines()[0] in stage.conversation
            for title in (STORY["read"]["title"], STORY["edit"]["title"], STORY["run"]["title"]):
                assert title in stage.conversation
            assert STORY["title"] in stage.titles[-1]


async def answer_the_question(stage: Stage) -> None:
    await stage.shows(STORY["question"]["message"])
    await stage.until(lambda: stage.app.main.questions.has_the_focus)
    stage.app.post_message(Paste(STORY["question"]["answer"]))
    await stage.shows(STORY["question"]["answer"])
    await stage.press("enter")


async def test_agents_are_listed_with_what_is_missing(typed, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    shown = (await typed("agents")).out.splitlines()
    assert shown[0].split() == ["accord", "installed", "accord", "agent"]
    assert "gemini      installed  gemini --acp" in shown
    assert "codex       missing    codex-acp  (npm install -g @agentclientprotocol/codex-acp)" in shown
    listed = msgspec.json.decode((await typed("agents", "--json")).out)
    gemini = next(each for each in listed if each["name"] == "gemini")
    assert (gemini["installed"], gemini["program"], gemini["source"]) == (True, str(program), "preset")
