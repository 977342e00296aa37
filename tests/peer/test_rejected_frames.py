from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from accord.errors import ConnectionClosed, FrameRejected
from accord.peer import Limits, Peer
from accord.transports import memory
from accord.transports.frame_reader import FrameReader
from accord.transports.process_transport import ProcessTransport
from tests.peer.joined import receiver, until, value

GOOD = b'{"jsonrpc":"2.0","method":"test/good","params":{}}'


class Line:
    """A transport that hands over what it is fed, in slices, as one on a pipe does."""

    unsent = 0

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    async def open(self, receiver: Any) -> None:
        self.reader = FrameReader(receiver, 1000)

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)

    def pause_receiving(self) -> None:
        self.reader.pause()

    def resume_receiving(self) -> None:
        self.reader.resume()

    async def aclose(self) -> None: ...


async def test_nothing_but_garbage_ends_the_connection_and_the_reason_quotes_it():
    line = Line()
    async with Peer(line, receiver({}), limits=Limits(malformed_in_a_row=1000)) as peer:
        waiting = asyncio.create_task(peer.request("initialize"))
        await asyncio.sleep(0)
        line.reader.feed(b"Usage: agent [options]\n" + b"y\n" * 5000)
        with pytest.raises(
            ConnectionClosed, match=r"1\d\d\d lines in a row were not ACP messages, .* 'Usage: agent \[options\]', 'y'"
        ):
            await waiting
        closed = await peer.wait_closed()
    assert isinstance(closed.__cause__, FrameRejected)
    assert 1000 < len(line.sent) < 1300


@pytest.mark.requirement("RPC-21")
async def test_each_line_of_garbage_is_answered_with_a_parse_error_until_it_is_enough():
    line = Line()
    async with Peer(line, receiver({}), limits=Limits(malformed_in_a_row=50)) as peer:
        line.reader.feed(b"y\n" * 49)
        assert len(line.sent) == 49
        assert all(b'"id":null' in frame and b"-32700" in frame for frame in line.sent)
        assert peer.is_open
        line.reader.feed(b"y\n")
        assert not peer.is_open


@pytest.mark.parametrize("garbage", [b"y", b'{"level":"info"}', b"42", b"[]", b"x" * 2000])
async def test_any_kind_of_garbage_counts(garbage: bytes):
    line = Line()
    async with Peer(line, receiver({}), limits=Limits(malformed_in_a_row=50)) as peer:
        line.reader.feed((garbage + b"\n") * 50)
        assert not peer.is_open


async def test_calls_that_are_refused_are_no_garbage():
    line = Line()
    async with Peer(line, receiver({}), limits=Limits(malformed_in_a_row=50)) as peer:
        line.reader.feed(b'{"jsonrpc":"2.0","id":1,"method":"m","params":1}\n' * 99)
        assert peer.is_open
    assert len(line.sent) == 99


async def test_noise_between_messages_never_ends_the_connection():
    """FN-32: however much there is of it."""
    heard: list[Any] = []
    line = Line()
    async with Peer(line, receiver({}, heard), limits=Limits(malformed_in_a_row=50)) as peer:
        for _ in range(100):
            line.reader.feed(b"debug\n" * 40 + GOOD + b"\n")
            await asyncio.sleep(0)
        await until(lambda: len(heard) == 100)
        assert peer.is_open


async def test_the_loop_goes_on_while_garbage_is_read_and_nothing_is_lost_or_reordered():
    heard: list[Any] = []
    ticks = 0
    line = Line()
    async with Peer(line, receiver({}, heard)) as peer:
        line.reader.feed((b"y\n" * 900 + GOOD + b"\n") * 20)
        line.reader.end(ConnectionClosed("over"))
        while peer.is_open:
            ticks += 1
            await asyncio.sleep(0)
    assert len(heard) == 20
    assert len(line.sent) == 20 * 900
    assert ticks > 50


async def test_garbage_fills_no_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, "accord.peer")
    line = Line()
    async with Peer(line, receiver({})):
        line.reader.feed(b"y\n" * 5000)
        await asyncio.sleep(0)
        await until(lambda: "the connection failed" in caplog.text)
    assert len(caplog.records) < 20


async def test_a_request_is_served_after_any_amount_of_refused_lines():
    one, two = memory.memory_pair()

    async def echo(params: Any) -> Any:
        return params

    async with Peer(one, receiver({})) as us, Peer(two, receiver({"test/echo": echo})):
        for _ in range(999):
            one.send(b"noise")
        assert value(await us.request("test/echo", {"a": 1})) == {"a": 1}


async def test_a_program_that_prints_without_end_is_ended_at_once():
    async with Peer(ProcessTransport(["yes", "no agent"]), receiver({})) as peer:
        with pytest.raises(ConnectionClosed, match=r"lines in a row were not ACP messages, .* 'no agent'"):
            await peer.request("initialize", deadline=5)
