"""Names of files on the screen: text that only looks like one, and files that take long to read."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from textual.events import Paste

from accord.apps.console.screen import tabs
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import Stage, opened
from tests.local.odd_names import ODD_NAMES

# A surrogate or a NUL comes through no terminal.
TYPED = [name for name in ODD_NAMES if name.isprintable()]


def answering() -> ScriptedAgent:
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Yes."))
    return agent


def prompts(agent: ScriptedAgent) -> list[str]:
    return [call.params["prompt"][0]["text"] for call in agent.calls("session/prompt")]


@pytest.fixture
def slow_disk(monkeypatch):
    """Files are read when it is set."""
    released, read = threading.Event(), tabs.prompt_content

    def reading(text, cwd, can):
        if "@" in text:
            released.wait()
        return read(text, cwd, can)

    monkeypatch.setattr(tabs, "prompt_content", reading)
    yield released
    released.set()


async def test_text_that_looks_like_a_path_is_pasted_as_text(tmp_path):
    async with opened(answering(), tmp_path) as stage:
        for text in TYPED:
            stage.app.prompt.set_text("")
            stage.app.post_message(Paste(text))
            await stage.until(lambda text=text: stage.prompt == text)


async def test_a_prompt_with_a_name_that_can_be_no_file_is_sent_as_it_is(tmp_path):
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        for name in TYPED:
            stage.tab.queue.send(f"@{name} please look")
            await stage.idle()
    assert prompts(agent) == [f"@{name} please look" for name in TYPED]


async def test_an_export_to_where_no_file_can_be_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/")
    async with opened(answering(), tmp_path, version=1) as stage:
        told: list[str] = []
        monkeypatch.setattr(stage.app, "tell", lambda text, severity="information": told.append(f"{severity}: {text}"))
        names = ["~nobody-of-this-name/x", "/", "~", "x" * 300, "a\0b.md", "/tmp/" + "x" * 300 + ".json"]
        for name in names:
            stage.app.commands.export(name)
        assert len(told) == len(names)
        assert all(text.startswith("error: Cannot write /") for text in told)


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
async def test_a_pipe_that_is_named_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("see @pipe ")
        await stage.shows("Yes.")
    assert [block["type"] for block in agent.calls("session/prompt")[0].params["prompt"]] == ["text", "resource_link"]


async def _named(stage: Stage, text: str = "see @a.txt") -> None:
    stage.tab.queue.send(text)
    await stage.until(lambda: stage.tab._composing is not None)


async def test_what_is_written_while_a_file_is_read_is_sent_after_it(tmp_path, slow_disk):
    (tmp_path / "a.txt").write_text("x")
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        await _named(stage)
        await stage.type("second")
        assert stage.prompt == "second"
        await stage.press("enter")
        await stage.shows("working")
        assert prompts(agent) == []
        slow_disk.set()
        await stage.idle()
    assert prompts(agent) == ["see @a.txt", "second"]


async def test_escape_while_a_file_is_read_sends_nothing_and_loses_nothing(tmp_path, slow_disk):
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        await _named(stage)
        await stage.press("escape")
        await stage.until(lambda: not stage.tab.is_busy)
        assert stage.tab.queue.prompts == ["see @a.txt"]
        assert not stage.tab.is_stopping
        assert stage.app.agent.state == "ready"
        assert agent.calls("session/cancel") == []
        slow_disk.set()
        await stage.send("Go on")
        await stage.idle()
    assert prompts(agent) == ["see @a.txt", "Go on"]


async def test_what_is_to_be_sent_now_does_not_wait_for_a_file_to_be_read(tmp_path, slow_disk):
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        await _named(stage)
        stage.tab.queue.send("later")
        await stage.type("now")
        await stage.press("ctrl+s")
        await stage.until(lambda: prompts(agent) == ["now"])
        slow_disk.set()
        await stage.idle()
    assert prompts(agent) == ["now", "see @a.txt", "later"]


async def test_a_prompt_whose_agent_dies_while_a_file_is_read_waits_for_the_next(tmp_path, slow_disk):
    agent = answering()
    async with opened(agent, tmp_path, version=1) as stage:
        await _named(stage)
        stage.tab.kill()
        await stage.until(lambda: stage.app.agent.state == "gone")
        slow_disk.set()
        await stage.until(lambda: stage.tab.queue.prompts == ["see @a.txt"])
    assert prompts(agent) == []
