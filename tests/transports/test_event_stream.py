from __future__ import annotations

import asyncio
import random

import pytest

from accord.errors import FrameRejected
from accord.transports.event_stream import KEEP_ALIVE, EventBuffer, EventParser, format_event
from tests.transports.recorder import a_few_ticks


def parse(parser: EventParser, *chunks: bytes) -> list[bytes | FrameRejected]:
    results = [result for chunk in chunks for result in parser.feed(chunk)]
    return [item for result in results for item in (result if isinstance(result, list) else [result])]


def test_an_event_has_the_frame_as_its_data_and_its_number_as_the_id():
    assert format_event(b'{"a":1}', 7) == b'id: 7\ndata: {"a":1}\n\n'
    assert format_event(b'{"a":\r\n1}', 8) == b'id: 8\ndata: {"a":  1}\n\n'


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_with_cr_lf_or_both(line_end: bytes):
    stream = b":comment\nevent: message\ndata: {}\n\nid: 7\ndata:[\ndata:]\n\n".replace(b"\n", line_end)
    parser = EventParser()
    assert parse(parser, stream, b":\n") == [b"{}", b"[ ]"]
    assert parser.event_id == b"7"


@pytest.mark.parametrize("seed", range(20))
def test_the_chunks_do_not_matter(seed: int):
    frames = [b'{"n":%d,"text":"\xc3\xa4"}' % number for number in range(30)]
    stream = b"".join(format_event(frame, number) for number, frame in enumerate(frames)).replace(
        b"\n", b"\r\n" if seed % 2 else b"\n"
    )
    cuts = sorted(random.Random(seed).choices(range(len(stream)), k=40))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parse(EventParser(), *chunks) == frames


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_an_event_over_the_limit_is_refused_and_the_next_one_read(size: int):
    stream = format_event(b"x" * 100, 1) + format_event(b"y" * 101, 2) + format_event(b"z", 3)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    first, refused, last = parse(EventParser(100), *chunks)
    assert (first, last) == (b"x" * 100, b"z")
    assert isinstance(refused, FrameRejected)
    assert refused.is_too_long


async def test_what_was_put_together_is_read_together():
    sent: list[int] = []
    buffer = EventBuffer(sent.append)
    buffer.put(b"1")
    buffer.put(b"22")
    reader = buffer.attach()
    assert await buffer.read(reader, 1) == b"id: 1\ndata: 1\n\nid: 2\ndata: 22\n\n"
    assert sent == []
    assert not buffer.is_empty
    reading = asyncio.create_task(buffer.read(reader, 60))
    await a_few_ticks()
    assert sent == [3]
    assert buffer.is_empty
    buffer.put(b"3")
    assert await reading == b"id: 3\ndata: 3\n\n"


async def test_an_idle_stream_gives_a_comment_and_an_ended_one_the_end():
    buffer = EventBuffer(lambda size: None)
    reader = buffer.attach()
    assert await buffer.read(reader, 0.001) == KEEP_ALIVE
    buffer.put(b"1")
    buffer.end()
    assert await buffer.read(reader, 60) == b"id: 1\ndata: 1\n\n"
    assert await buffer.read(reader, 60) is None


async def test_a_reader_that_is_detached_gets_the_end_and_the_events_stay():
    buffer = EventBuffer(lambda size: None)
    reader = buffer.attach()
    reading = asyncio.create_task(buffer.read(reader, 60))
    await a_few_ticks()
    buffer.detach(reader)
    assert await reading is None
    buffer.put(b"1")
    reader = buffer.attach()
    assert await buffer.read(reader, 60) == b"id: 1\ndata: 1\n\n"


async def test_a_dropped_buffer_gives_back_its_bytes():
    sent: list[int] = []
    buffer = EventBuffer(sent.append)
    buffer.put(b"12345")
    buffer.drop()
    assert (sent, buffer.is_empty) == ([5], True)


async def test_one_write_is_bounded():
    buffer = EventBuffer(lambda size: None)
    for _ in range(10):
        buffer.put(b"x" * 100_000)
    reader = buffer.attach()
    assert len(await buffer.read(reader, 1) or b"") < 400_000
