from __future__ import annotations

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameReader
from tests.transports.recorder import Recorder, a_few_ticks


async def test_what_arrives_is_delivered_at_once():
    recorder = Recorder()
    FrameReader(recorder, 100).feed(b"{}\n[]\n")
    assert recorder.frames == [b"{}", b"[]"]


async def test_a_refusal_comes_in_its_place():
    recorder = Recorder()
    FrameReader(recorder, 10).feed(b"{}\n" + b"x" * 20 + b"\n[]\n")
    assert recorder.calls == ["frames", "refused", "frames"]


async def test_after_a_pause_inside_a_delivery_nothing_more_is_delivered():
    recorder = Recorder()
    reader = FrameReader(recorder, 10)
    recorder.on_frames = lambda frames: reader.pause()
    reader.feed(b"{}\n" + b"x" * 20 + b"\n[]\n")
    await a_few_ticks()
    assert recorder.calls == ["frames"]
    recorder.on_frames = lambda frames: None
    reader.resume()
    assert recorder.calls == ["frames"]
    await recorder.received(2)
    assert recorder.calls == ["frames", "refused", "frames"]


async def test_when_all_was_read_a_pause_holds_it_back_for_one_tick_only():
    recorder = Recorder()
    reader = FrameReader(recorder, 100)
    recorder.on_frames = lambda frames: reader.pause()
    reader.feed(b"{}\n" * 1000)
    assert len(recorder.frames) == 256
    reader.end(ConnectionClosed("over"))
    assert len(recorder.frames) == 256
    await recorder.until(lambda: recorder.silence)
    assert recorder.calls == ["frames"] * 4 + ["ended"]


async def test_the_end_of_what_arrives_comes_before_the_end_of_all():
    recorder = Recorder()
    reader = FrameReader(recorder, 100)
    reader.pause()
    reader.feed(b"{}\n")
    reader.end(ConnectionClosed("silent"))
    reader.lose(ConnectionClosed("gone"))
    assert (await recorder.lost()).reason == "gone"
    assert recorder.calls == ["frames", "ended", "lost"]


async def test_a_pause_after_a_resume_holds_what_was_held_before():
    recorder = Recorder()
    reader = FrameReader(recorder, 10)
    reader.pause()
    reader.feed(b"{}\n")
    reader.resume()
    reader.pause()
    await a_few_ticks()
    assert recorder.calls == []


async def test_what_arrives_after_a_resume_stays_behind_what_was_held():
    recorder = Recorder()
    reader = FrameReader(recorder, 10)
    reader.pause()
    reader.feed(b"1\n")
    reader.resume()
    reader.feed(b"2\n")
    assert await recorder.received(2) == [b"1", b"2"]


async def test_the_end_is_told_once():
    recorder = Recorder()
    reader = FrameReader(recorder, 10)
    reader.feed(b"last")
    reader.lose(ConnectionClosed("over"))
    reader.feed(b"{}\n")
    reader.end(ConnectionClosed("again"))
    reader.lose(ConnectionClosed("again"))
    reader.close(ConnectionClosed("and again"))
    assert recorder.calls == ["frames", "lost"]
    assert recorder.frames == [b"last"]


async def test_closing_tells_a_paused_receiver_too_and_drops_what_was_held():
    recorder = Recorder()
    reader = FrameReader(recorder, 10)
    reader.pause()
    reader.feed(b"{}\n")
    reader.close(ConnectionClosed("over"))
    await a_few_ticks()
    assert recorder.calls == ["lost"]


async def test_a_pause_takes_effect_within_one_delivery_of_many_short_frames():
    recorder = Recorder()
    reader = FrameReader(recorder, 100)
    recorder.on_frames = lambda frames: reader.pause()
    lines = [b"%d" % number for number in range(1000)]
    reader.feed(b"{}\n" + b"\n".join(lines) + b"\n")
    assert len(recorder.frames) < 300
    recorder.on_frames = lambda frames: None
    reader.resume()
    await recorder.received(1001)
    assert recorder.frames == [b"{}", *lines]


async def test_many_short_frames_are_delivered_at_once_when_nobody_pauses():
    recorder = Recorder()
    FrameReader(recorder, 100).feed(b"{}\n" * 1000)
    assert recorder.frames == [b"{}"] * 1000
