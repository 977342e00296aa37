"""A long session costs no more per prompt and per entity than a short one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from accord import Agent, Client, Turn
from accord.session import Message, MessageAppend, Text, Transcript
from accord.session.updates import PromptPatch, ToolCallPatch


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def with_messages(transcript: Transcript, count: int) -> Transcript:
    for number in range(count):
        transcript.apply(MessageAppend(role="user", id=f"m{number}", content=Text("x")))
    return transcript


def test_a_prompt_gets_its_id_as_fast_in_a_long_timeline_as_in_a_short_one():
    def seconds(count: int) -> float:
        transcript = with_messages(Transcript(), count)

        def name(number: int) -> None:
            transcript.apply(MessageAppend(role="user", id=f"p{number}", content=Text("x")))
            transcript.apply(MessageAppend(role="agent", id=f"a{number}", content=Text("x")))
            transcript.apply(PromptPatch(id=f"p{number}", new_id=f"q{number}"))

        best = min(cpu_seconds(lambda number=number: name(number)) for number in range(20))
        places = [place for place in transcript.timeline if isinstance(place, Message)]
        assert [place.id for place in places][-4:] == ["q18", "a18", "q19", "a19"]
        assert places == list(transcript.messages.values())
        return best

    assert seconds(20_000) < 20 * seconds(20)


def test_an_entity_past_the_limit_costs_as_much_however_many_were_forgotten():
    transcript = with_messages(Transcript(entity_limit=50_000), 49_000)

    def seconds() -> float:
        return cpu_seconds(lambda: [_add(transcript) for _ in range(100)])

    before = min(seconds() for _ in range(5))
    while transcript.forgotten < 35_000:
        _add(transcript)
    assert len(transcript.messages) == len(transcript.timeline) == 50_000
    assert min(seconds() for _ in range(5)) < 5 * before


def _add(transcript: Transcript) -> None:
    number = transcript.forgotten + len(transcript.messages)
    transcript.apply(MessageAppend(role="user", id=f"m{number}", content=Text("x")))


@pytest.mark.parametrize("version", [1, 2, "2-draft"])
async def test_a_prompt_costs_as_much_after_many_tool_calls(version):
    agent = Agent("growth", merge_seconds=0)

    @agent.prompt
    async def take_turn(turn: Turn) -> None:
        if turn.text == "fill":
            _fill(turn.session.transcript)
        async with turn.tool_call("Work") as call:
            await call.update(title="Work on")

    async with Client(agent, version=version) as client:
        session = await client.new_session("/")

        async def seconds() -> float:
            started = time.process_time()
            await session.prompt("go")
            return time.process_time() - started

        short = min([await seconds() for _ in range(10)])
        await session.prompt("fill")
        _fill(session.transcript)
        assert min([await seconds() for _ in range(10)]) < 4 * short


def _fill(transcript: Transcript) -> None:
    for number in range(30_000):
        transcript.apply(ToolCallPatch(id=f"c{number}", title="x", status="completed", creates=True))
