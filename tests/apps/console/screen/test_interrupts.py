"""Stopping: asked first, then made to; and what busy means."""

from __future__ import annotations

import asyncio
import time

import pytest

from accord import Agent, Turn
from accord.apps.console.screen import interrupts, keys
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


async def test_escape_stops_the_turn_and_says_so(tmp_path, version):
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        await stage.shows("Esc stops")
        await stage.press("escape")
        await agent.next("session/cancel")
        await stage.shows("stopping… Esc again kills the agent")
        agent.finish(asked, "cancelled")
        await stage.shows("● ready", "stopped")


async def test_ctrl_c_stops_it_too(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        await stage.press("ctrl+c")
        await agent.next("session/cancel")
        agent.finish(asked, "end_turn")
        await stage.shows("stopped; stop reason: end_turn")


async def test_ctrl_c_held_down_stops_and_does_not_leave(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1, held=60.0) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        await stage.type("next")
        await stage.press("ctrl+c")
        await agent.next("session/cancel")
        agent.finish(asked, "cancelled")
        await stage.shows("● ready")
        await stage.press("ctrl+c", "ctrl+c", "ctrl+c")
        assert (stage.prompt, stage.app.is_running) == ("next", True)
        keys.HELD = keys.REPEATING = 0.0
        await stage.press("ctrl+c")
        assert stage.prompt == ""
        await stage.press("ctrl+c")
        await stage.shows("Press Ctrl+C again to quit.")


@pytest.mark.parametrize("presses", [3, 4, 5, 6])
async def test_ctrl_c_held_down_in_an_empty_prompt_does_not_leave(tmp_path, monkeypatch, presses):
    monkeypatch.setattr(interrupts, "REPEAT_SECONDS", 60.0)
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        await stage.press(*["ctrl+c"] * presses)
        await stage.shows("Press Ctrl+C again to quit.")
        assert stage.app.interrupts._exit is None


async def test_ctrl_c_held_down_clears_the_prompt_and_does_not_leave(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1, held=60.0) as stage:
        await stage.type("text")
        await stage.press("ctrl+c", "ctrl+c", "ctrl+c")
        assert stage.prompt == ""
        assert stage.app.interrupts._exit is None
        assert "again to quit" not in stage.text


async def test_ctrl_c_that_clears_the_prompt_is_not_the_first_of_two(tmp_path):
    async with opened(ScriptedAgent(1), tmp_path, version=1) as stage:
        await stage.press("ctrl+c")
        await stage.type("more")
        await stage.press("ctrl+c", "ctrl+c")
        assert (stage.prompt, stage.app.is_running, stage.app.return_value) == ("", True, None)


async def test_questions_that_are_open_are_answered_when_the_turn_is_stopped(tmp_path, version):
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            allowed.append(await turn.allowed(call))

    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.press("ctrl+c")
        await stage.idle()
        assert stage.tab.questions.pending == []
        assert True not in allowed
        assert "Permission" not in stage.text


async def test_a_second_press_kills_an_agent_that_does_not_stop(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1, held=60.0) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        await stage.press("escape")
        await agent.next("session/cancel")
        await stage.press("escape", "escape")
        assert stage.app.agent.state == "ready"  # the same press, held down
        keys.HELD = keys.REPEATING = 0.0
        await stage.press("escape")
        await stage.shows("was ended, because it did not stop", "agent ended, F5 restarts it")


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_ctrl_c_kills_an_agent_that_is_told_to_stop_at_once(tmp_path, key):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1, held=60.0) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        await stage.press(key)
        await agent.next("session/cancel")
        await stage.press("ctrl+c")
        await stage.shows("was ended, because it did not stop", "agent ended, F5 restarts it")


async def test_busy_is_read_from_the_request_that_is_open(tmp_path):
    agent = ScriptedAgent(2)
    async with opened(agent, tmp_path, version=2) as stage:
        assert not stage.tab.is_busy
        agent.update("state_update", state="running")
        await stage.until(lambda: stage.tab.is_busy)
        await stage.shows("working")
        agent.update("state_update", state="idle")
        await stage.shows("● ready")


async def test_an_agent_that_worked_by_itself_and_was_stopped_lives_on(tmp_path):
    agent = ScriptedAgent(2)
    async with opened(agent, tmp_path, version=2) as stage:
        agent.update("state_update", state="running")
        await stage.shows("working")
        await stage.press("escape")
        await agent.next("session/cancel")
        await stage.shows("stopping… Esc again kills the agent")
        agent.update("state_update", state="idle")
        await stage.shows("● ready")
        await stage.press("escape")
        agent.update("state_update", state="running")
        await stage.shows("working", "Esc stops")
        await stage.press("escape")
        await agent.next("session/cancel")
        agent.update("state_update", state="idle")
        await stage.shows("● ready")
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        await stage.shows("Esc stops")
        agent.begin(asked)
        agent.finish(asked)
        await stage.idle()
        assert stage.app.agent.state == "ready"


async def test_a_failed_model_call_is_shown_as_what_it_is_and_the_session_lives(tmp_path, version):
    """FN-94: a failed model call comes as an error with an odd code; the session goes on."""
    agent = ScriptedAgent(version)
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("Go")
        (await agent.next("session/prompt")).fail(400, "context too long", {"used": 9})
        await stage.shows("context too long (400)", "used: 9", "● ready")
        await stage.send("Again")
        asked = await agent.next("session/prompt")
        agent.begin(asked)
        agent.say("Fine now")
        agent.finish(asked, "refusal")
        await stage.shows("Fine now", "the agent refused to continue")


async def test_the_time_of_a_turn_is_shown(tmp_path, monkeypatch):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        stage.tab.busy_since = time.monotonic() - 75
        stage.app.screen_refresh.update_status()
        await stage.shows("working 1:15 min")
        agent.finish(asked)
        await stage.idle()


async def test_the_agent_ends_with_the_screen(tmp_path):
    ended = asyncio.Event()
    agent = Agent("sleeper", version="1")

    @agent.prompt
    async def sleep(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.until(lambda: stage.tab.is_busy)
    await ended.wait()


async def test_what_waits_is_held_after_a_stop_until_something_is_sent(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("one")
        asked = await agent.next("session/prompt")
        await stage.send("two")
        await stage.send("three")
        assert "held since" not in stage.text
        await stage.press("escape")
        await stage.shows("Next 2 held after the stop, Ctrl+S continues")
        agent.finish(asked, "cancelled")
        await stage.shows("● ready", "1 two", "2 three")
        assert len(agent.calls("session/prompt")) == 1
        await stage.press("ctrl+s")
        asked = await agent.next("session/prompt")
        assert asked.params["prompt"][0]["text"] == "two"
        await stage.press("escape")
        agent.finish(asked, "cancelled")
        await stage.until(lambda: not stage.tab.is_busy)
        await stage.send("four")
        for text in ("three", "four"):
            asked = await agent.next("session/prompt")
            assert asked.params["prompt"][0]["text"] == text
            agent.finish(asked)
        await stage.idle()


async def test_what_is_sent_now_is_not_held_by_the_stop_that_it_needs(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("one")
        asked = await agent.next("session/prompt")
        await stage.send("two")
        await stage.press("escape")
        await stage.type("first")
        await stage.press("ctrl+s")
        agent.finish(asked, "cancelled")
        for text in ("first", "two"):
            asked = await agent.next("session/prompt")
            assert asked.params["prompt"][0]["text"] == text
            agent.finish(asked)
        await stage.idle()


async def test_what_waits_stays_held_when_the_agent_that_did_not_stop_is_started_again(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/resume", {})
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("one")
        await agent.next("session/prompt")
        await stage.send("two")
        await stage.press("escape", "escape")
        await stage.shows("agent ended, F5 restarts it")
        await stage.press("f5")
        await stage.shows("● ready", "1 two")
        assert len(agent.calls("session/prompt")) == 1
