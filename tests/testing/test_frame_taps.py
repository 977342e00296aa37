"""A tapped line owes what every transport owes."""

from __future__ import annotations

import pytest

from accord.errors import ConnectionClosed
from accord.testing.frame_taps import Tap, TappedTransport
from accord.testing.recording import Recording
from accord.transports.memory import memory_pair
from accord.transports.process_transport import ProcessTransport
from accord.transports.transport import Transport
from tests.transports.recorder import Recorder, a_few_ticks


async def opened(tap: Tap | None = None, **options: int):
    left, right = memory_pair(**options)
    line: Transport = TappedTransport(left, tap or Tap())
    near, far = Recorder(), Recorder()
    await right.open(far)
    await line.open(near)
    return line, near, right, far


async def test_frames_pass_both_ways_and_in_order():
    line, near, right, far = await opened()
    for number in range(5):
        line.send(b"%d" % number)
        right.send(b"%d" % number)
    assert await far.received(5) == await near.received(5) == [b"0", b"1", b"2", b"3", b"4"]


async def test_nothing_is_sent_before_it_is_open_and_a_refusal_passes():
    with pytest.raises(ConnectionClosed, match="not open yet"):
        TappedTransport(memory_pair()[0], Tap()).send(b"{}")
    near, line = Recorder(), TappedTransport(ProcessTransport(["no such program"]), Tap())
    with pytest.raises(ConnectionClosed, match="command not found"):
        await line.open(near)
    await line.aclose()
    assert near.calls == []


async def test_a_pause_holds_everything_also_what_the_tap_makes_up():
    line, near, right, _ = await opened()
    line.pause_receiving()
    line.to_client(b"made up")
    right.send(b"sent")
    await a_few_ticks()
    assert near.frames == []
    line.resume_receiving()
    assert near.frames == []
    assert await near.received(2) == [b"made up", b"sent"]


async def test_a_pause_takes_effect_between_two_chunks():
    line, near, right, _ = await opened()
    near.on_frames = lambda frames: line.pause_receiving()
    for _ in range(100):
        right.send(b"x" * 10_000)
    await near.received(1)
    await a_few_ticks()
    assert len(near.frames) < 20
    near.on_frames = lambda frames: None
    line.resume_receiving()
    await near.received(100)


async def test_a_slow_far_end_pauses_the_sender_and_resumes_it():
    line, near, right, far = await opened(high_water=1000)
    right.pause_receiving()
    for _ in range(30):
        line.send(b"x" * 100)
    assert (near.calls, line.unsent) == (["paused"], 3000)
    right.resume_receiving()
    await far.received(30)
    await near.until(lambda: near.calls == ["paused", "resumed"])


async def test_what_is_too_long_is_refused_in_its_place():
    line, near, right, _ = await opened(frame_limit=10)
    for frame in (b"1", b"x" * 11, b"2"):
        right.send(frame)
    assert await near.received(2) == [b"1", b"2"]
    assert len(near.refusals) == 1
    await line.aclose()


async def test_the_end_is_told_once_and_after_everything_else():
    line, near, right, far = await opened()
    right.send(b"last")
    await right.aclose()
    line.pause_receiving()
    await a_few_ticks()
    assert near.reason is None
    line.resume_receiving()
    await near.lost()
    assert near.frames == [b"last"]
    line.send(b"dropped")
    await line.aclose()
    await line.aclose()
    assert far.frames == []
    assert near.calls.count("lost") == 1


async def test_closing_drops_what_is_held_and_tells_both_ends():
    line, near, right, far = await opened()
    right.send(b"never seen")
    line.to_client(b"nor this")
    await line.aclose()
    assert near.frames == []
    assert near.reason is not None
    assert near.reason.reason == "closed by this side"
    await far.lost()


async def test_a_cut_line_ends_for_both_with_its_reason():
    line, near, _, far = await opened()
    line.cut(ConnectionClosed("cut", 3))
    line.cut(ConnectionClosed("cut twice"))
    reason = await near.lost()
    await far.lost()
    assert (reason.reason, reason.exit_code) == ("cut", 3)
    await line.aclose()


async def test_a_cut_that_was_not_told_yet_is_told_when_it_is_closed():
    line, near, _, _ = await opened()
    line.cut(ConnectionClosed("cut", 3))
    await line.aclose()
    assert (await near.lost()).exit_code == 3


async def test_each_connection_has_its_own_copy_of_a_tap():
    class Counting(Tap):
        count = 0

        def from_client(self, frame):
            self.count += 1
            self.line.to_agent(b"%d" % self.count)

    tap = Counting()
    for _ in range(2):
        line, _, _, far = await opened(tap)
        line.send(b"x")
        line.send(b"x")
        assert await far.received(2) == [b"1", b"2"]


class Joined:
    def __init__(self, end: Transport) -> None:
        self.end = end

    def connect(self) -> Transport:
        return self.end


async def test_who_hung_up_is_recorded():
    for leaver, sender in (("line", "client"), ("right", "agent")):
        recording = Recording()
        left, right = memory_pair()
        line = recording.of(Joined(left)).connect()
        near = Recorder()
        await right.open(Recorder())
        await line.open(near)
        await {"line": line, "right": right}[leaver].aclose()
        await near.lost()
        await line.aclose()
        assert [(entry.sender, entry.closed is not None) for entry in recording.entries] == [(sender, True)]
