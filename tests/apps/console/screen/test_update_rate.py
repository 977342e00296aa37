"""An agent that says more than can be drawn."""

from __future__ import annotations

import asyncio

from accord.apps.console.screen.session import UpdateRate, portions
from accord.session import Transcript
from accord.session.content import Image, Text
from accord.session.updates import MessageAppend
from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened


def chunk(text: str):
    return Transcript().apply(MessageAppend(role="agent", id="1", content=Text(text)))


def test_a_long_text_is_told_in_portions_and_nothing_of_it_is_lost():
    text = "".join(f"{number} " for number in range(10_000))
    told = list(portions(chunk(text)))
    assert "".join(portion.content.text for portion in told) == text  # type: ignore[union-attr]
    assert max(len(portion.content.text) for portion in told) <= 4000  # type: ignore[union-attr]
    assert len(list(portions(chunk("short")))) == 1
    picture = Transcript().apply(MessageAppend(role="agent", id="1", content=Image(data="", mime_type="image/png")))
    assert list(portions(picture)) == [picture]


async def test_others_get_a_turn_while_very_much_is_taken_in():
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting, pace = asyncio.create_task(others()), UpdateRate()
    for portion in portions(chunk("x" * 40_000)):
        await pace.throttle(portion)
    waiting.cancel()
    assert turns >= 5


async def test_who_kills_a_flood_does_not_have_to_read_it(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        agent.say("word\n\n" * 100_000)
        await stage.shows("word")
        await stage.press("escape")
        await stage.press("escape")
        await stage.shows("was ended, because it did not stop")
        blocks = stage.tab.conversation.blocks
        await stage.until(lambda: any("is not shown here; /export has it" in block.plain() for block in blocks))
        assert len(stage.tab.session.transcript.timeline) == 2
        await stage.press("x")
        assert stage.prompt == "x"
