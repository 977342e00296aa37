from __future__ import annotations

import pytest

from accord.errors import ConnectionClosed
from accord.transports.memory import MemoryTransport, memory_pair
from accord.transports.transport import Transport
from tests.transports.recorder import Recorder, a_few_ticks


async def opened(**options: int) -> tuple[MemoryTransport, Recorder, MemoryTransport, Recorder]:
    left, right = memory_pair(**options)
    near, far = Recorder(), Recorder()
    await left.open(near)
    await right.open(far)
    return left, near, right, far


async def test_frames_sent_in_one_tick_arrive_together_and_in_order():
    left, _, _, far = await opened()
    for number in range(5):
        left.send(b"%d" % number)
    assert far.frames == []
    assert await far.received(5) == [b"0", b"1", b"2", b"3", b"4"]
    assert far.chunks == [5]


async def test_frames_sent_before_the_other_end_is_open_wait_for_it():
    left, right = memory_pair()
    transport: Transport = left
    await transport.open(Recorder())
    left.send(b"{}")
    far = Recorder()
    await right.open(far)
    assert await far.received(1) == [b"{}"]


async def test_a_slow_receiver_pauses_the_sender_and_resumes_it():
    left, near, right, far = await opened(high_water=1000)
    right.pause_receiving()
    right.pause_receiving()
    for _ in range(30):
        left.send(b"x" * 100)
    assert near.calls == ["paused"]
    assert left.unsent == 3000
    await a_few_ticks()
    assert far.calls == []
    right.resume_receiving()
    right.resume_receiving()
    await far.received(30)
    await near.until(lambda: near.calls == ["paused", "resumed"])
    assert left.unsent == 0


async def test_a_pause_takes_effect_between_two_chunks():
    left, _, right, far = await opened()
    far.on_frames = lambda frames: right.pause_receiving()
    for _ in range(100):
        left.send(b"x" * 10_000)
    await far.received(1)
    await a_few_ticks()
    assert len(far.chunks) == 1
    assert len(far.frames) < 20


async def test_a_frame_past_the_limit_is_refused_in_its_place():
    left, _, _, far = await opened(frame_limit=10)
    for frame in (b"{}", b"x" * 11, b"[]"):
        left.send(frame)
    await far.received(2)
    assert far.calls == ["frames", "refused", "frames"]


async def test_what_was_sent_arrives_before_the_end_does():
    left, near, right, far = await opened()
    left.send(b"{}")
    await left.aclose()
    await left.aclose()
    assert near.calls == ["lost"]
    reason = await far.lost()
    assert far.calls == ["frames", "lost"]
    assert "other side" in str(reason)
    right.send(b"dropped")
    await right.aclose()
    assert far.calls == ["frames", "lost"]


async def test_a_paused_end_learns_of_the_end_when_it_resumes():
    left, _, right, far = await opened()
    right.pause_receiving()
    left.send(b"{}")
    await left.aclose()
    await a_few_ticks()
    assert far.calls == []
    right.resume_receiving()
    await far.lost()
    assert far.frames == [b"{}"]


async def test_an_end_that_is_closed_cannot_be_opened():
    left, right = memory_pair()
    await left.aclose()
    with pytest.raises(ConnectionClosed):
        await left.open(Recorder())
    far = Recorder()
    await right.open(far)
    await far.lost()


async def test_nothing_can_be_sent_before_opening():
    left, _ = memory_pair()
    with pytest.raises(ConnectionClosed):
        left.send(b"{}")


@pytest.mark.requirement("TRANS-15")
async def test_a_frame_keeps_no_newline_here_either():
    left, _, _, far = await opened()
    left.send(b"[1,\n2]")
    assert await far.received(1) == [b"[1, 2]"]
