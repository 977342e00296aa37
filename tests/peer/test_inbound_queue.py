from __future__ import annotations

import asyncio

import pytest

from accord.errors import ConnectionClosed
from accord.peer import InboundQueue, MergeRules
from accord.session.backlog_merge import merge, merge_key, supersede, supersede_key
from accord.session.content import Text
from accord.session.transcript import Transcript
from accord.session.updates import MessageAppend, MessageChunk, ToolCallChanged, ToolCallPatch, Update

MERGING: MergeRules[Update] = MergeRules(merge_key, merge, supersede_key, supersede)


async def drained(queue: InboundQueue[Update]) -> list[Update]:
    queue.close()
    return [change async for change in queue]


def full_inbox(**limits: int) -> InboundQueue[Update]:
    queue: InboundQueue[Update] = InboundQueue(
        limit=limits.get("limit", 0), hard_limit=limits.get("hard_limit", 10**9), merge_rules=MERGING
    )
    return queue


async def test_what_is_put_comes_out_in_the_same_order():
    queue: InboundQueue[int] = InboundQueue(limit=100, hard_limit=1000)
    for number in range(5):
        queue.put(number, 1)
    queue.close()
    assert [number async for number in queue] == [0, 1, 2, 3, 4]


async def test_a_consumer_that_waits_is_woken_by_what_is_put():
    queue: InboundQueue[str] = InboundQueue(limit=100, hard_limit=1000)
    waiting = asyncio.ensure_future(anext(queue))
    await asyncio.sleep(0)
    queue.put("news", 1)
    assert await waiting == "news"


async def test_closing_delivers_what_waits_and_then_raises_the_reason():
    queue: InboundQueue[str] = InboundQueue(limit=100, hard_limit=1000)
    queue.put("last words", 1)
    queue.close(ConnectionClosed("gone"))
    queue.put("too late", 1)
    assert await anext(queue) == "last words"
    with pytest.raises(ConnectionClosed):
        await anext(queue)


async def test_a_closed_inbox_delivers_what_waits_and_presses_no_more():
    pressed: list[bool] = []
    queue: InboundQueue[int] = InboundQueue(limit=10, hard_limit=1000, on_pressure=pressed.append)
    for number in range(20):
        queue.put(number, 1)
    queue.close()
    assert pressed == [True, False]
    assert [number async for number in queue] == [*range(20)]
    assert pressed == [True, False]


async def test_an_inbox_that_has_to_give_way_merges_and_never_presses_again():
    pressed: list[bool] = []
    queue: InboundQueue[Update] = InboundQueue(
        limit=10, hard_limit=10**9, merge_rules=MERGING, on_pressure=pressed.append
    )
    transcript = Transcript()
    for _ in range(100):
        queue.put(transcript.apply(MessageAppend(role="agent", id="a", content=Text("x"))), 1)
        if queue.is_over_limit:
            queue.disable_pressure()
    assert pressed == [True, False]
    assert len(queue) < 20
    assert "".join([change.text for change in await drained(queue) if isinstance(change, MessageChunk)]) == "x" * 100


async def test_pressure_begins_over_the_limit_and_ends_at_half_of_it():
    pressed: list[bool] = []
    queue: InboundQueue[int] = InboundQueue(limit=10, hard_limit=1000, on_pressure=pressed.append)
    for number in range(11):
        queue.put(number, 1)
    assert pressed == [True]
    for _ in range(5):
        await anext(queue)
    assert pressed == [True]
    await anext(queue)
    assert pressed == [True, False]


async def test_past_the_hard_limit_it_overflows():
    overflowed: list[int] = []
    queue: InboundQueue[int] = InboundQueue(limit=10, hard_limit=20, on_overflow=overflowed.append)
    queue.put(1, 15)
    assert overflowed == []
    queue.put(2, 15)
    assert overflowed == [30]


async def test_discarding_ends_the_pressure():
    pressed: list[bool] = []
    queue: InboundQueue[int] = InboundQueue(limit=1, hard_limit=1000, on_pressure=pressed.append)
    queue.put(1, 5)
    queue.discard()
    assert pressed == [True, False]
    assert [number async for number in queue] == []


async def test_a_reader_that_is_behind_gets_the_text_joined_and_no_letter_is_lost():
    """FN-38: 50,000 chunks to a slow consumer stay one entry."""
    transcript, queue = Transcript(), full_inbox()
    for number in range(50_000):
        piece = MessageAppend(role="agent", id="m", content=Text(f"{number} "))
        queue.put(transcript.apply(piece), 1)
    assert len(queue) <= 2
    told = [change for change in await drained(queue) if isinstance(change, MessageChunk)]
    assert "".join(change.text for change in told) == "".join(f"{number} " for number in range(50_000))
    assert told[0].created


async def test_of_a_tool_call_only_the_newest_state_waits_at_its_first_place():
    transcript, queue = Transcript(), full_inbox()
    queue.put(transcript.apply(MessageAppend(role="agent", id="m", content=Text("fills it"))), 1)
    queue.put(transcript.apply(ToolCallPatch(id="a", title="first", creates=True)), 1)
    queue.put(transcript.apply(MessageAppend(role="agent", id="n", content=Text("between"))), 1)
    queue.put(transcript.apply(ToolCallPatch(id="a", status="completed")), 1)
    _, call, between = await drained(queue)
    assert isinstance(call, ToolCallChanged)
    assert isinstance(between, MessageChunk)
    assert (call.call.title, call.call.status, call.created) == ("first", "completed", True)


async def test_what_belongs_to_different_messages_is_not_joined():
    transcript, queue = Transcript(), full_inbox()
    for message, text in (("m", "a"), ("n", "b"), ("m", "c")):
        queue.put(transcript.apply(MessageAppend(role="agent", id=message, content=Text(text))), 1)
    texts = [change.text for change in await drained(queue) if isinstance(change, MessageChunk)]
    assert texts == ["a", "b", "c"]


async def test_a_chunk_with_meta_is_delivered_as_it_came():
    transcript, queue = Transcript(), full_inbox()
    for meta in ({}, {"x": 1}):
        piece = MessageAppend(role="agent", id="m", content=Text("a"), meta=meta)
        queue.put(transcript.apply(piece), 1)
    first, second = await drained(queue)
    assert isinstance(second, MessageChunk)
    assert second.patch.meta == {"x": 1}
    assert first is not second
