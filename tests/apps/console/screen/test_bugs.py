"""Faults of our own: one costs a line, not the screen; and what ends the screen tells no secrets."""

from __future__ import annotations

from typing import Any

from rich.segment import Segments

from accord import Agent, Turn
from accord.apps.console import permission_details
from accord.apps.console.screen.blocks.block import Block
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

FAULT = "accord failed to draw this (a bug, please report it): ZeroDivisionError"


class _NotDrawn(Block):
    def draw(self, canvas: Any) -> Any:
        return [1 / 0]

    def plain(self) -> str:
        return "the bare text"


class _NotComposed(_NotDrawn):
    def compose(self, canvas: Any) -> Any:
        return [1 / 0]


class _WithoutText(_NotDrawn):
    def plain(self) -> str:
        return str(1 / 0)


async def test_a_block_that_can_not_be_drawn_is_its_text_or_a_line(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        for block in (_NotDrawn(), _NotComposed(), _WithoutText()):
            stage.tab.conversation.add(block)
        agent.say("The rest.")
        await stage.shows("The rest.", FAULT, "the bare text")
        assert stage.text.count(FAULT) == 1
        assert stage.text.count("the bare text") == 2


async def test_a_question_that_can_not_be_drawn_says_so_and_can_be_answered(tmp_path, monkeypatch):
    agent, allowed = Agent("asker", version="1"), []

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it", raw_input={"what": 1}) as call:
            allowed.append(await turn.allowed(call))

    monkeypatch.setattr(permission_details, "remaining_input", lambda *_, **__: 1 / 0)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        await stage.asked()
        await stage.shows("Permission", FAULT, "Allow")
        await stage.press("n")
        await stage.idle()
        assert allowed == [False]


async def test_what_ends_the_screen_is_told_without_the_values_of_anything(tmp_path):
    secret = "hunter2"
    async with opened(ScriptedAgent(1), tmp_path) as stage:
        try:
            raise RuntimeError(len(secret))
        except RuntimeError:
            stage.app._fatal_error()
        (told,) = stage.app._exit_renderables
        assert isinstance(told, Segments)
        text = "".join(segment.text for segment in told.segments)
        assert "accord has crashed" in text
        assert "RuntimeError: 7" in text
        assert secret not in text
        stage.app._exit_renderables.clear()
