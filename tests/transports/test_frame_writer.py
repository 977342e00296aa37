from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from accord.errors import ConnectionClosed
from accord.transports import frame_writer as module
from accord.transports.frame_reader import FrameReader
from accord.transports.frame_writer import FrameWriter
from accord.transports.framing import Framing
from tests.transports.recorder import Recorder, a_few_ticks


@pytest.fixture(autouse=True)
def all_within_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a busy machine takes from one line of a test to the next."""
    monkeypatch.setattr(module, "_SINGLE_SECONDS", 3600)


class Pipe:
    """A writer that takes as much as it has room for."""

    def __init__(self, room: int = 1 << 40) -> None:
        self.writes: list[bytes] = []
        self.room = room
        self.unsent = 0
        self.on_progress: Callable[[], None] = lambda: None

    def write(self, piece: bytes) -> None:
        self.writes.append(piece)
        taken = min(self.room, len(piece))
        self.room -= taken
        self.unsent += len(piece) - taken

    def drain(self, size: int) -> None:
        self.unsent -= size
        self.on_progress()

    def finish(self) -> asyncio.Future[None]:
        raise NotImplementedError

    def close(self) -> None: ...


def writer(pipe: Pipe, recorder: Recorder, framing: Framing = "newline", high_water: int = 1000) -> FrameWriter:
    return FrameWriter(pipe, recorder, FrameReader(recorder, 1000), framing, high_water)


@pytest.mark.requirement("TRANS-09")
async def test_the_first_frame_leaves_at_once_and_the_rest_of_the_tick_together():
    pipe = Pipe()
    leaving = writer(pipe, Recorder())
    for number in range(4):
        leaving.send(b"%d" % number)
    assert pipe.writes == [b"0\n"]
    assert leaving.unsent == 3
    await a_few_ticks()
    assert pipe.writes == [b"0\n", b"1\n2\n3\n"]
    assert leaving.unsent == 0


@pytest.mark.requirement("TRANS-09")
async def test_an_answer_leaves_at_once():
    pipe = Pipe()
    leaving = writer(pipe, Recorder())
    leaving.send(b"0")
    leaving.next_single_at = 0.0
    leaving.send(b"1")
    assert pipe.writes == [b"0\n", b"1\n"]


async def test_a_long_burst_does_not_wait_for_the_end_of_the_tick():
    pipe = Pipe()
    leaving = writer(pipe, Recorder(), high_water=1 << 20)
    for _ in range(1000):
        leaving.send(b"x" * 1000)
    assert leaving.unsent < 64 * 1024
    assert 12 < len(pipe.writes) < 20  # many frames each, long before all of them


async def test_a_burst_of_small_frames_does_not_wait_until_it_is_large():
    pipe = Pipe()
    leaving = writer(pipe, Recorder(), high_water=1 << 20)
    for number in range(1000):
        leaving.send(b"%d" % number)
    assert leaving.unsent < 200
    assert 12 < len(pipe.writes) < 20
    await a_few_ticks()
    assert b"".join(pipe.writes) == b"".join(b"%d\n" % number for number in range(1000))


async def test_a_large_frame_is_written_uncopied_and_keeps_its_place():
    pipe = Pipe()
    leaving = writer(pipe, Recorder(), high_water=1 << 20)
    large = b"x" * 100_000
    for frame in (b"0", b"1", large, b"2"):
        leaving.send(frame)
    await a_few_ticks()
    assert b"".join(pipe.writes) == b"0\n1\n" + large + b"\n2\n"
    assert any(piece is large for piece in pipe.writes)


async def test_blocks_are_written_when_asked_for():
    pipe = Pipe()
    leaving = writer(pipe, Recorder(), "content-length")
    leaving.send(b"{}")
    leaving.send(b"[]")
    leaving.flush()
    assert b"".join(pipe.writes) == b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]"


async def test_the_sender_is_paused_at_once_and_resumed_once():
    pipe, recorder = Pipe(room=100), Recorder()
    leaving = writer(pipe, recorder, high_water=1000)
    sent = 0
    while not recorder.calls:
        leaving.send(b"x" * 99)
        sent += 100
    assert recorder.calls == ["paused"]
    assert sent < 3000
    leaving.send(b"x" * 99)
    leaving.flush()
    pipe.drain(pipe.unsent - 251)
    assert recorder.calls == ["paused"]
    pipe.drain(1)
    pipe.drain(250)
    assert recorder.calls == ["paused", "resumed"]


async def test_closing_writes_what_waits_and_drops_the_rest():
    pipe, recorder = Pipe(), Recorder()
    leaving = writer(pipe, recorder)
    leaving.send(b"0")
    leaving.send(b"1")
    leaving.close()
    leaving.send(b"2")
    await a_few_ticks()
    assert pipe.writes == [b"0\n", b"1\n"]


@pytest.mark.requirement("TRANS-05")
async def test_unless_asked_otherwise_it_writes_as_the_other_side_does():
    pipe, recorder = Pipe(), Recorder()
    arrivals = FrameReader(recorder, 1000)
    leaving = FrameWriter(pipe, recorder, arrivals, None, 1000)
    leaving.send(b"{}")
    arrivals.feed(b"Content-Length: 2\r\n\r\n{}")
    leaving.next_single_at = 0.0
    leaving.send(b"{}")
    assert pipe.writes == [b"{}\n", b"Content-Length: 2\r\n\r\n{}"]


async def test_after_the_end_the_receiver_hears_of_no_water_mark():
    pipe, recorder = Pipe(room=0), Recorder()
    arrivals = FrameReader(recorder, 1000)
    leaving = FrameWriter(pipe, recorder, arrivals, None, 100)
    leaving.send(b"x" * 200)
    arrivals.lose(ConnectionClosed("over"))
    pipe.drain(pipe.unsent)
    leaving.next_single_at = 0.0
    leaving.send(b"x" * 200)
    assert recorder.calls == ["paused", "lost"]
