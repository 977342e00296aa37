from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import socket
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from accord.transports.blocking_io import ThreadReader, ThreadWriter
from accord.transports.stdio import private_reader, private_writer, shared_reader, shared_writer
from accord.transports.streams import ByteReader, ByteWriter, LoopReader, LoopWriter
from tests.transports.recorder import a_few_ticks

Ends = tuple[int, int]


class Sink:
    """Collects what a reader delivers and what a writer complains of."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.ended: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
        self.arrived = asyncio.Event()

    def bytes_arrived(self, data: bytes) -> None:
        assert not self.ended.done()
        self.received += data
        self.arrived.set()

    def end(self, error: OSError | None) -> None:
        self.ended.set_result(error)

    async def until(self, size: int) -> None:
        while len(self.received) < size:
            self.arrived.clear()
            await self.arrived.wait()


@pytest.fixture
def descriptors() -> Iterator[list[int]]:
    opened: list[int] = []
    yield opened
    for descriptor in opened:
        with suppress(OSError):
            os.close(descriptor)


@pytest.fixture
def pipe(descriptors: list[int]) -> Ends:
    ends = os.pipe()
    descriptors += ends
    return ends


@pytest.fixture
def sockets(descriptors: list[int]) -> Ends:
    ends = tuple(end.detach() for end in socket.socketpair())
    descriptors += ends
    return ends[0], ends[1]


@pytest.fixture
def terminal(descriptors: list[int]) -> Ends:
    ends = pty.openpty()
    tty.setraw(ends[1])
    descriptors += ends
    return ends


@pytest.fixture(params=["pipe", "sockets", "terminal"])
def ends(request: pytest.FixtureRequest) -> Ends:
    """A descriptor to read from and one to write to."""
    return request.getfixturevalue(request.param)


def is_nonblocking(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK)


async def test_bytes_go_through_every_kind_of_descriptor_and_its_description_is_left_alone(ends: Ends):
    """FN-36: at this layer; pipes, sockets and terminals, in and out, none of them switched to non-blocking."""
    source, target = ends
    sink = Sink()
    writer = shared_writer(target, sink.end)
    reader = shared_reader(source, sink.bytes_arrived, sink.end)
    payload = bytes(range(32, 127)) * 20
    for _ in range(20):
        writer.write(payload)
    await sink.until(20 * len(payload))
    assert sink.received == 20 * payload
    assert not is_nonblocking(source)
    assert not is_nonblocking(target)
    await writer.finish()
    assert writer.unsent == 0
    reader.close()


async def test_pipes_and_sockets_are_watched_and_the_rest_gets_threads(
    pipe: Ends, sockets: Ends, terminal: Ends, tmp_path: Path, descriptors: list[int]
):
    sink = Sink()
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    null = os.open(os.devnull, os.O_RDWR)
    descriptors += [file, null]
    kinds: list[tuple[int, int, type, type]] = [
        (*pipe, LoopReader, LoopWriter),
        (*sockets, LoopReader, LoopWriter),
        (*terminal, ThreadReader, ThreadWriter),
        (file, file, ThreadReader, ThreadWriter),
        (null, null, ThreadReader, ThreadWriter),
    ]
    for source, target, reads, writes in kinds:
        writer = shared_writer(target, sink.end)
        reader = shared_reader(source, lambda data: None, lambda error: None)
        assert (type(reader), type(writer)) == (reads, writes)
        reader.close()
        await writer.finish()


async def test_a_file_is_read_to_its_end(tmp_path: Path, descriptors: list[int]):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 200_000)
    descriptors.append(os.open(path, os.O_RDONLY))
    sink = Sink()
    shared_reader(descriptors[0], sink.bytes_arrived, sink.end)
    assert await sink.ended is None
    assert sink.received == b"x" * 200_000


async def test_a_file_gets_everything_before_it_is_closed(tmp_path: Path, descriptors: list[int]):
    path = tmp_path / "file"
    descriptors.append(os.open(path, os.O_WRONLY | os.O_CREAT))
    writer = shared_writer(descriptors[0], Sink().end)
    for _ in range(100):
        writer.write(b"x" * 10_000)
    await writer.finish()
    assert path.read_bytes() == b"x" * 1_000_000
    assert writer.unsent == 0


async def test_the_null_device_ends_at_once(descriptors: list[int]):
    descriptors.append(os.open(os.devnull, os.O_RDONLY))
    sink = Sink()
    shared_reader(descriptors[0], sink.bytes_arrived, sink.end)
    assert await sink.ended is None


Pair = Callable[[Sink, Ends], tuple[ByteReader, ByteWriter]]


def through_the_loop(sink: Sink, ends: Ends) -> tuple[ByteReader, ByteWriter]:
    return private_reader(os.dup(ends[0]), sink.bytes_arrived, sink.end), private_writer(os.dup(ends[1]), sink.end)


def through_threads(sink: Sink, ends: Ends) -> tuple[ByteReader, ByteWriter]:
    return ThreadReader(os.dup(ends[0]), sink.bytes_arrived, sink.end), ThreadWriter(os.dup(ends[1]), sink.end)


@pytest.fixture(params=[through_the_loop, through_threads])
def pair(request: pytest.FixtureRequest) -> Pair:
    return request.param


async def test_more_than_the_system_takes_is_counted_until_it_is_gone(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    reader.pause()
    progress: list[int] = []
    writer.on_progress = lambda: progress.append(writer.unsent)
    writer.write(b"x" * 1_000_000)
    writer.write(b"y" * 1_000_000)
    assert writer.unsent > 1_000_000
    reader.resume()
    await sink.until(2_000_000)
    assert sink.received == b"x" * 1_000_000 + b"y" * 1_000_000
    await writer.finish()
    assert writer.unsent == 0
    assert progress == sorted(progress, reverse=True)
    reader.close()


async def test_a_paused_reader_delivers_nothing_more_than_it_had_read(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    writer.write(b"x")
    await sink.until(1)
    reader.pause()
    reader.pause()
    writer.write(b"y" * 500_000)
    await a_few_ticks(100)
    assert len(sink.received) <= 1 + 64 * 1024
    reader.resume()
    reader.resume()
    await sink.until(500_001)
    reader.close()
    writer.close()


async def test_the_end_of_the_stream_is_told_once(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    os.close(pipe[1])
    writer.write(b"last words")
    await writer.finish()
    assert await sink.ended is None
    assert sink.received == b"last words"
    reader.close()


async def test_a_reader_that_has_gone_is_told_to_the_writer_and_not_from_within_write(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    reader.close()
    os.close(pipe[0])
    if pair is through_threads:
        writer.on_progress = lambda: writer.write(b"x")  # its thread closes the reading end in its own time
    writer.write(b"x")
    assert not sink.ended.done()
    assert isinstance(await sink.ended, BrokenPipeError)
    writer.write(b"dropped")
    assert writer.unsent == 0
    await writer.finish()


async def test_closing_abandons_what_is_unsent(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    reader.close()
    writer.write(b"x" * 1_000_000)
    finished = writer.finish()
    assert not finished.done()
    writer.close()
    assert writer.unsent == 0
    if pair is through_the_loop:
        assert finished.done()


async def test_a_closed_reader_takes_nothing_more(pair: Pair, pipe: Ends):
    sink = Sink()
    reader, writer = pair(sink, pipe)
    writer.write(b"x")
    await sink.until(1)
    reader.close()
    await a_few_ticks()
    os.write(pipe[1], b"for somebody else")
    assert os.read(pipe[0], 100) == b"for somebody else"
    writer.close()


async def test_a_description_that_somebody_made_nonblocking_is_no_obstacle_to_threads(pipe: Ends):
    for end in pipe:
        os.set_blocking(end, False)
    sink = Sink()
    reader, writer = through_threads(sink, pipe)
    writer.write(b"x" * 1_000_000)
    await sink.until(1_000_000)
    await writer.finish()
    reader.close()
