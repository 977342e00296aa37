from __future__ import annotations

import asyncio

import pytest

from accord.errors import ConnectionClosed
from accord.peer import Inbox, Merging
from accord.session.backlog_merge import merge, merge_key, supersede, supersede_key
from accord.session.content import Text
from accord.session.transcript import Transcript
from accord.session.updates import MessageAppend, MessageChunk, ToolCallChanged, ToolCallPatch, Update

MERGING: Merging[Update] = Merging(merge_key, merge, supersede_key, supersede)


async def drained(inbox: Inbox[Update]) -> list[Update]:
    inbox.close()
    return [change async for change in inbox]


def full_inbox(**limits: int) -> Inbox[Update]:
    inbox: Inbox[Update] = Inbox(
        limit=limits.get("limit", 0), hard_limit=limits.get("hard_limit", 10**9), merging=MERGING
    )
    return inbox


async def test_what_is_put_comes_out_in_the_same_order():
    inbox: Inbox[int] = Inbox(limit=100, hard_limit=1000)
    for number in range(5):
        inbox.put(number, 1)
    inbox.close()
    assert [number async for number in inbox] == [0, 1, 2, 3, 4]


async def test_a_consumer_that_waits_is_woken_by_what_is_put():
    inbox: Inbox[str] = Inbox(limit=100, hard_limit=1000)
    waiting = asyncio.ensure_future(anext(inbox))
    await asyncio.sleep(0)
    inbox.put("news", 1)
    assert await waiting == "news"


async def test_closing_delivers_what_waits_and_then_raises_the_reason():
    inbox: Inbox[str] = Inbox(limit=100, hard_limit=1000)
    inbox.put("last words", 1)
    inbox.close(ConnectionClosed("gone"))
    inbox.put("too late", 1)
    assert await anext(inbox) == "last words"
    with pytest.raises(ConnectionClosed):
        await anext(inbox)


async def test_a_closed_inbox_delivers_what_waits_and_presses_no_more():
    pressed: list[bool] = []
    inbox: Inbox[int] = Inbox(limit=10, hard_limit=1000, pressed=pressed.append)
    for number in range(20):
        inbox.put(number, 1)
    inbox.close()
    assert pressed == [True, False]
    assert [number async for number in inbox] == [*range(20)]
    assert pressed == [True, False]


async def test_an_inbox_that_has_to_give_way_merges_and_never_presses_again():
    pressed: list[bool] = []
    inbox: Inbox[Update] = Inbox(limit=10, hard_limit=10**9, merging=MERGING, pressed=pressed.append)
    transcript = Transcript()
    for _ in range(100):
        inbox.put(transcript.apply(MessageAppend(role="agent", id="a", content=Text("x"))), 1)
        if inbox.pressing:
            inbox.stop_pressing()
    assert pressed == [True, False]
    assert len(inbox) < 20
    assert "".join([change.text for change in await drained(inbox) if isinstance(change, MessageChunk)]) == "x" * 100


async def test_pressure_begins_over_the_limit_and_ends_at_half_of_it():
    pressed: list[bool] = []
    inbox: Inbox[int] = Inbox(limit=10, hard_limit=1000, pressed=pressed.append)
    for number in range(11):
        inbox.put(number, 1)
    assert pressed == [True]
    for _ in range(5):
        await anext(inbox)
    assert pressed == [True]
    await anext(inbox)
    assert pressed == [True, False]


async def test_past_the_hard_limit_it_overflows():
    overflowed: list[int] = []
    inbox: Inbox[int] = Inbox(limit=10, hard_limit=20, overflowed=overflowed.append)
    inbox.put(1, 15)
    assert overflowed == []
    inbox.put(2, 15)
    assert overflowed == [30]


async def test_discarding_ends_the_pressure():
    pressed: list[bool] = []
    inbox: Inbox[int] = Inbox(limit=1, hard_limit=1000, pressed=pressed.append)
    inbox.put(1, 5)
    inbox.discard()
    assert pressed == [True, False]
    assert [number async for number in inbox] == []


async def test_a_reader_that_is_behind_gets_the_text_joined_and_no_letter_is_lost():
    """FN-38: 50,000 chunks to a slow consumer stay one entry."""
    transcript, inbox = Transcript(), full_inbox()
    for number in range(50_000):
        piece = MessageAppend(role="agent", id="m", content=Text(f"{number} "))
        inbox.put(transcript.apply(piece), 1)
    assert len(inbox) <= 2
    told = [change for change in await drained(inbox) if isinstance(change, MessageChunk)]
    assert "".join(change.text for change in told) == "".join(f"{number} " for number in range(50_000))
    assert told[0].created


async def test_of_a_tool_call_only_the_newest_state_waits_at_its_first_place():
    transcript, inbox = Transcript(), full_inbox()
    inbox.put(transcript.apply(MessageAppend(role="agent", id="m", content=Text("fills it"))), 1)
    inbox.put(transcript.apply(ToolCallPatch(id="a", title="first", creates=True)), 1)
    inbox.put(transcript.apply(MessageAppend(role="agent", id="n", content=Text("between"))), 1)
    inbox.put(transcript.apply(ToolCallPatch(id="a", status="completed")), 1)
    _, call, between = await drained(inbox)
    assert isinstance(call, ToolCallChanged)
    assert isinstance(between, MessageChunk)
    assert (call.call.title, call.call.status, call.created) == ("first", "completed", True)


async def test_what_belongs_to_different_messages_is_not_joined():
    transcript, inbox = Transcript(), full_inbox()
    for message, text in (("m", "a"), ("n", "b"), ("m", "c")):
        inbox.put(transcript.apply(MessageAppend(role="agent", id=message, content=Text(text))), 1)
    texts = [change.text for change in await drained(inbox) if isinstance(change, MessageChunk)]
    assert texts == ["a", "b", "c"]


async def test_a_chunk_with_meta_is_delivered_as_it_came():
    transcript, inbox = Transcript(), full_inbox()
    for meta in ({}, {"x": 1}):
        piece = MessageAppend(role="agent", id="m", content=Text("a"), meta=meta)
        inbox.put(transcript.apply(piece), 1)
    first, second = await drained(inbox)
    assert isinstance(second, MessageChunk)
    assert second.patch.meta == {"x": 1}
    assert first is not second
