"""Whatever happens on the screen meanwhile, what is typed arrives in the prompt, all of it and in its order."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.widgets import Input

from accord import Agent, Turn
from accord.testing import ScriptedAgent, program
from tests.apps.console.screen.stage import Stage, opened


def burst(stage: Stage, *keys: str) -> None:
    """All at once, as a terminal hands over what was typed fast: nothing has an effect before the last key has come."""
    for key in keys:
        character = key if len(key) == 1 else None
        stage.app.post_message(Key(_character_to_key(key) if character else key, character))


async def test_a_burst_with_backspace_arrows_and_new_lines_is_written_in_its_order(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        burst(stage, *"abx", "backspace", "c", "ctrl+j", *"def", "left", "left", "E", "end", "!")
        await stage.pilot.pause()
        assert stage.prompt == "abc\ndEef!"


async def test_what_follows_enter_at_once_stays_in_the_prompt(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        burst(stage, *"one", "enter", *"two", "enter", *"three")
        await stage.until(lambda: agent.calls("session/prompt"))
        assert agent.calls("session/prompt")[0].params["prompt"][0]["text"] == "one"
        assert (stage.tab.queue.prompts, stage.prompt) == (["two"], "three")


async def test_completing_in_a_burst_takes_nothing_of_what_follows(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        burst(stage, *"/expo", "tab", *".json")
        await stage.pilot.pause()
        assert stage.prompt == "/export .json"


async def test_the_history_in_a_burst_takes_nothing_of_what_follows(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        stage.app.history.prompts += ["first", "second"]
        burst(stage, "up", "up", *" again", "x", "backspace", "!")
        await stage.pilot.pause()
        assert stage.prompt == "first again!"


async def test_a_tab_that_is_opened_in_a_burst_leaves_what_was_written_in_its_own(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        burst(stage, *"here", "ctrl+n", *"there")
        await stage.until(lambda: stage.prompt == "there")
        await stage.press("alt+left")
        await stage.until(lambda: stage.prompt == "here")


async def test_characters_that_mean_nothing_where_the_focus_is_go_into_the_prompt(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.tab.is_busy)
        await stage.send("later")
        await stage.press("tab", "tab")
        assert stage.app.focused is stage.app.conversation
        burst(stage, *"which", "tab", "tab", "tab", *"?")
        await stage.pilot.pause()
        assert stage.prompt == "which?"
        stage.app.main.queue.focus()
        await stage.pilot.pause()
        burst(stage, *" wait")
        await stage.pilot.pause()
        assert stage.prompt == "which? wait"
        stage.app.conversation.focus()
        await stage.pilot.pause()
        stage.app.post_message(Paste(" until\nthen"))
        await stage.pilot.pause()
        assert stage.prompt == "which? wait until\nthen"
        assert stage.tab.queue.prompts == ["later"]


@pytest.mark.parametrize("page", ["f1", "f4"])
async def test_who_goes_on_writing_on_a_page_without_a_field_is_back_at_the_prompt(tmp_path, page):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        burst(stage, *"one ", page)
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        burst(stage, *"two", "backspace", "O", "ctrl+j", *"three")
        await stage.until(lambda: stage.app.screen is stage.app.main)
        assert stage.prompt == "one twO\nthree"


@pytest.mark.parametrize("page", ["ctrl+r", "ctrl+l", "f3", "ctrl+p"])
async def test_on_a_page_with_a_field_it_is_searched_for(tmp_path, page):
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"list": {}}})
    agent.on("session/list", {"sessions": []})
    async with opened(agent, tmp_path) as stage:
        await stage.press(*"one", page)
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        burst(stage, *"two")
        await stage.pilot.pause()
        assert stage.app.screen.query_one(Input).value == "two"
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.main)
        assert stage.prompt == "one"


async def test_in_the_field_of_a_page_no_key_overtakes_another(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        await stage.press("ctrl+r")
        await stage.until(lambda: isinstance(stage.app.focused, Input))
        burst(stage, *"str", "backspace", "backspace", "backspace", *"hxs", "left", "backspace", "o", "end", "!")
        await stage.pilot.pause()
        assert stage.app.screen.query_one(Input).value == "hos!"


async def test_what_follows_the_key_of_a_page_at_once_is_searched_for(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        burst(stage, *"one", "ctrl+r", *"str", "backspace", "backspace", "o")
        await stage.until(lambda: stage.app.screen is not stage.app.main)
        await stage.pilot.pause()
        assert (stage.app.screen.query_one(Input).value, stage.prompt) == ("so", "one")


async def test_in_the_field_of_a_form_no_key_overtakes_another(tmp_path):
    agent, answers = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        answers.append(await turn.ask("How many?", {"number": {"type": "string", "default": "x1"}}))

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: isinstance(stage.app.focused, Input))
        burst(stage, "end", "backspace", "backspace", *"42", "enter")
        await stage.idle()
        assert answers == [{"number": "42"}]


WORDS = "the quick brown fox jumps over the lazy dog / @not-a-file and (so) on: y1a2n3d "


async def test_everything_typed_arrives_while_the_agent_floods_and_asks(tmp_path):
    agent = ScriptedAgent(1)
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    asking: list[Any] = []

    async def answer(asked: Any) -> None:
        for number in range(40):
            for piece in range(5):
                agent.say(f"word {number}.{piece}\n\n")
            agent.update("tool_call", toolCallId=f"c{number}", title=f"Do {number}", status="in_progress")
            if number % 8 == 0:
                call = {"toolCallId": f"c{number}", "title": f"Do {number}", "kind": "edit"}
                about = {"sessionId": agent.session_id, "toolCall": call, "options": options}
                asking.append(agent.ask("session/request_permission", about))
            await asyncio.sleep(0)

    agent.on("session/prompt", answer)
    async with opened(agent, tmp_path, settling=60.0) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.tab.questions.first is not None)
        text = WORDS * 4
        for place, letter in enumerate(text):
            burst(stage, letter)
            if place % 7 == 0:
                await stage.pilot.pause()
            if place % 60 == 30:
                stage.app.main.questions.take_focus()
            if place % 60 == 45:
                burst(stage, "tab")
        await stage.pilot.pause()
        assert stage.prompt == text
        await stage.until(lambda: len(stage.tab.questions.pending) == 5)
        assert stage.prompt == text


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
async def test_a_terminal_that_hands_over_everything_at_once_loses_nothing(tmp_path, monkeypatch):
    from tests.apps.console.looking import SeenTerminal
    from tests.apps.console.terminal import at_terminal

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with (
        program(agent) as command,
        at_terminal("--", *command.args, cwd=tmp_path, kind=SeenTerminal) as (
            terminal,
            accord,
        ),
    ):
        await terminal.shows("ready")
        terminal.type("fixx\x7f it\rthen tesT\x1b[D\x1b[Dd\x05!\x7f\nnow\x1b[200~ or\nnever\x1b[201~")
        await terminal.shows("then tedsT", "now or", "never")
        asked = await agent.next("session/prompt")
        assert asked.params["prompt"][0]["text"] == "fix it"
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_what_follows_the_key_of_the_search_at_once_is_searched_for(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        for text in ("create", "project"):  # the first search makes its field
            burst(stage, *"be", "ctrl+f", *text, "escape", *"fore")
            await stage.until(lambda: stage.prompt == "before")
            assert stage.app.main.search_bar.field.value == text
            stage.app.prompt.set_text("")
        burst(stage, *"/find files", "enter", *"ystem", "escape", *"after")
        await stage.until(lambda: stage.prompt == "after")
        assert not stage.app.main.search_bar.display
