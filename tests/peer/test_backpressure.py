from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.errors import ConnectionClosed, FrameRejected, Overloaded
from accord.jsonrpc.events import RequestReceived
from accord.peer import Limits, Peer
from accord.peer.backpressure import Backpressure
from accord.transports import memory
from accord.transports.framing import frame_too_long
from tests.peer.joined import joined, until, value


class Line:
    """A transport that only counts."""

    def __init__(self) -> None:
        self.unsent = 0
        self.is_reading = True

    def pause_receiving(self) -> None:
        self.is_reading = False

    def resume_receiving(self) -> None:
        self.is_reading = True


def flow_on(line: Line, failures: list[Overloaded] | None = None, owed: list[int] | None = None) -> Backpressure:
    limits = Limits(queue_bytes=10, unsent_bytes=10, unsent_bytes_hard=20, open_requests=2, open_requests_hard=4)
    return Backpressure(line, limits, (failures if failures is not None else []).append, lambda: bool(owed))  # type: ignore[arg-type]


async def test_reading_pauses_while_an_inbox_is_full_and_nobody_awaits_an_answer():
    line = Line()
    backpressure = flow_on(line)
    backpressure.queue_filled(True)
    assert not line.is_reading
    backpressure.waiters_changed(1)
    assert line.is_reading
    backpressure.waiters_changed(-1)
    assert not line.is_reading
    backpressure.queue_filled(False)
    assert line.is_reading


async def test_reading_pauses_while_too_many_requests_are_open():
    line, failures = Line(), []
    backpressure = flow_on(line, failures)
    for _ in range(3):
        backpressure.request_started(0)
    assert not line.is_reading
    backpressure.request_ended(0)
    assert line.is_reading
    for _ in range(3):
        backpressure.request_started(0)
    assert len(failures) == 1


async def test_reading_pauses_while_the_other_side_does_not_read_our_answers():
    line, failures = Line(), []
    backpressure = flow_on(line, failures)
    backpressure.send_paused()
    backpressure.response_sent(11)
    assert not line.is_reading
    backpressure.send_resumed()
    assert line.is_reading


async def test_unsent_answers_do_not_stop_the_reading_while_an_answer_is_owed_to_us():
    line, owed = Line(), [1]
    backpressure = flow_on(line, owed=owed)
    backpressure.send_paused()
    backpressure.response_sent(11)
    assert line.is_reading
    owed.clear()
    backpressure.response_sent(1)
    assert not line.is_reading
    owed.append(2)
    backpressure.request_sent()
    assert line.is_reading


async def test_what_is_unsent_is_bounded():
    line, failures = Line(), []
    backpressure = flow_on(line, failures)
    line.unsent = 20
    backpressure.frame_sent()
    assert failures == []
    line.unsent = 21
    backpressure.frame_sent()
    assert [error.limit for error in failures] == [20]


async def test_reading_goes_on_while_somebody_waits_for_room():
    line = Line()
    backpressure = flow_on(line)
    backpressure.queue_filled(True)
    backpressure.send_paused()
    waiting = asyncio.create_task(backpressure.wait_for_room())
    await asyncio.sleep(0)
    assert line.is_reading
    backpressure.send_resumed()
    await waiting
    assert not line.is_reading


@pytest.mark.parametrize("way", ["notify", "post"])
async def test_two_large_messages_that_cross_both_arrive(way: str):
    """Each is more than a peer likes to have unsent, and neither side may wait for the other to read first."""
    heard: list[str] = []
    async with joined(heard_by(heard, "us"), heard_by(heard, "them")) as (us, them):
        params = {"text": "x" * 5_000_000}
        if way == "notify":
            await asyncio.gather(us.notify("test/told", params), them.notify("test/told", params))
        else:
            us.post("test/told", params)
            them.post("test/told", params)
        await until(lambda: len(heard) == 2)


async def test_two_large_answers_that_cross_both_arrive():
    async def large(params: Any) -> Any:
        return "x" * 5_000_000

    async with joined({"test/large": large}, {"test/large": large}) as (us, them):
        calls = us.send_request("test/large"), them.send_request("test/large")
        assert [len(value(await call)) for call in calls] == [5_000_000, 5_000_000]


async def test_two_consumers_that_answer_each_update_with_another_do_not_block_each_other():
    queues: list[Any] = []
    limits = Limits(queue_bytes=2000, queue_bytes_hard=10**6)

    def into(place: int) -> Any:
        return lambda event: queues[place].put(value(event.params)["n"], 100)

    ends = memory.memory_pair(high_water=1000)
    async with Peer(ends[0], into(0), limits=limits) as us, Peer(ends[1], into(1), limits=limits) as them:
        queues.extend((us.new_queue(), them.new_queue()))
        for peer in (us, them):
            for _ in range(50):
                peer.post("test/told", {"n": 40, "pad": "x" * 100})

        async def echo(peer: Peer, queue: Any) -> None:
            left = 100 * 41 // 2
            async for n in queue:
                left -= 1
                if n:
                    await peer.notify("test/told", {"n": n - 1, "pad": "x" * 100})
                if not left:
                    return

        await asyncio.gather(echo(us, queues[0]), echo(them, queues[1]))


def heard_by(heard: list[str], name: str) -> Any:
    def receive(event: Any) -> None:
        heard.append(name)

    return receive


async def test_a_writer_waits_until_there_is_room_or_the_end():
    backpressure = flow_on(Line())
    backpressure.send_paused()
    waiting = asyncio.create_task(backpressure.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    backpressure.send_resumed()
    await waiting
    backpressure.send_paused()
    waiting = asyncio.create_task(backpressure.wait_for_room())
    await asyncio.sleep(0)
    backpressure.end()
    await waiting


async def test_a_slow_consumer_slows_the_sender_and_gets_everything_in_order():
    """FN-38: no task per update, no growing queue: the sender waits."""
    queues: list[Any] = []

    def receive(event: Any) -> Any:
        queues[0].put(value(event.params)["n"], 1000)

    limits = Limits(queue_bytes=20_000, queue_bytes_hard=10**6)
    async with joined(theirs=receive, their_options={"limits": limits}) as (us, them):
        queues.append(them.new_queue())

        async def tell() -> None:
            for n in range(3000):
                await us.notify("session/update", {"n": n, "pad": "x" * 1000})
            await us.notify("session/update", {"n": None})

        telling = asyncio.create_task(tell())
        heard: list[int] = []
        most = 0
        async for n in queues[0]:
            most = max(most, queues[0].size)
            if n is None:
                break
            heard.append(n)
            if n % 100 == 0:
                await asyncio.sleep(0)
        await telling
        assert len(asyncio.all_tasks()) < 20
    assert heard == list(range(3000))
    assert most < 4_000_000


async def test_an_answer_arrives_although_the_inbox_is_full_and_nobody_reads_it():
    """FN-12: whoever awaits an answer is not starved by updates that wait before it."""
    queues: list[Any] = []

    def receive(event: Any) -> Any:
        queues[0].put("update", 10_000)

    async def prompt(params: Any) -> Any:
        for _ in range(50):
            await peers[1].notify("session/update", {"pad": "x" * 10_000})
        return "done"

    peers: list[Peer] = []
    limits = Limits(queue_bytes=20_000, queue_bytes_hard=10**7)
    async with joined(receive, {"session/prompt": prompt}, our_options={"limits": limits}) as (us, them):
        peers.extend((us, them))
        queues.append(us.new_queue())
        assert value(await us.request("session/prompt")) == "done"
        assert len(queues[0]) == 50


async def test_what_nobody_consumes_ends_the_connection_at_the_hard_limit_with_the_reason():
    def receive(event: Any) -> Any:
        queues[0].put("update", 1000)

    async def never(params: Any) -> Any:
        await asyncio.Event().wait()

    queues: list[Any] = []
    limits = Limits(queue_bytes=2000, queue_bytes_hard=5000)
    async with joined(receive, {"test/never": never}, our_options={"limits": limits}) as (us, them):
        queues.append(us.new_queue())
        waiting = asyncio.create_task(us.request("test/never"))
        await asyncio.sleep(0)
        for _ in range(20):
            them.post("session/update", {})
        with pytest.raises(ConnectionClosed) as closed:
            await waiting
        assert isinstance(closed.value.__cause__, Overloaded)
        assert "5000" in str(closed.value)


async def test_large_requests_that_nobody_answers_end_the_connection_at_the_hard_limit_with_the_reason():
    async def never(params: Any) -> Any:
        await asyncio.Event().wait()

    limits = Limits(open_request_bytes_hard=100_000)
    async with joined(theirs={"test/never": never}, their_options={"limits": limits}) as (us, them):
        calls = [us.send_request("test/never", {"pad": "x" * 30_000}) for _ in range(3)]
        await until(lambda: len(them._inbound._running) == 3)
        assert them.is_open
        calls.append(us.send_request("test/never", {"pad": "x" * 30_000}))
        closed = await them.wait_closed()
        assert isinstance(closed.__cause__, Overloaded)
        assert "100000" in str(closed)


async def test_a_flood_of_requests_is_served_a_few_at_a_time():
    running = most = 0

    async def slow(params: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    limits = Limits(open_requests=10, open_requests_hard=10_000)
    async with joined(theirs={"test/slow": slow}, their_options={"limits": limits}) as (us, _):
        for _ in range(40):
            calls = [us.send_request("test/slow", {"pad": "x" * 5000}) for _ in range(20)]
            for call in calls:
                await call
    assert most <= 1000


@pytest.mark.requirement("RPC-21", "RPC-54", "AMB-28", "AMB-62", "EXT-11")
@pytest.mark.parametrize("noise", [b"npm warn deprecated", b"42", b'"text"', b"null", b"{}", b"\xff\xfe", b"[]", b"{"])
async def test_noise_is_reported_and_skipped_and_the_connection_lives(noise: bytes):
    """FN-32, FN-74: a line that is no message costs nothing but itself, and the error it gets is survived."""
    one, two = memory.memory_pair()

    async def echo(params: Any) -> Any:
        return params

    def receive(event: Any) -> Any:
        return echo(1) if isinstance(event, RequestReceived) else None

    async with Peer(one, receive) as us, Peer(two, receive):
        one.send(noise)
        assert value(await us.request("test/echo", {})) == 1


async def test_a_refused_frame_is_answered_with_the_reason_and_costs_nothing_else():
    """FN-33: the sender of an overlong frame learns why, the connection lives."""
    frames: list[bytes] = []
    rejected: list[FrameRejected] = []
    options = {"on_frame": lambda direction, frame: frames.append(frame), "on_rejected_frame": rejected.append}
    async with joined(our_options=options) as (us, _):
        us.frame_rejected(frame_too_long(10))
        assert us.is_open
    assert [error.is_too_long for error in rejected] == [True]
    assert b'"id":null' in frames[0]
    assert b"longer than the limit" in frames[0]


@pytest.mark.requirement("AMB-29")
async def test_a_null_id_is_served_until_a_version_forbids_it():
    one, two = memory.memory_pair()
    frames: list[tuple[str, bytes]] = []

    async def echo(params: Any) -> Any:
        return 1

    def observe(direction: str, frame: bytes) -> None:
        frames.append((direction, frame))

    async with Peer(one, lambda event: None) as us, Peer(two, lambda event: echo(1), on_frame=observe) as them:
        request = b'{"jsonrpc":"2.0","id":null,"method":"test/echo"}'
        one.send(request)
        await until(lambda: len(frames) == 2)
        them.set_version_rules(odd_ids_allowed=False, batches_allowed=False)
        one.send(request)
        await until(lambda: len(frames) == 4)
        assert us.is_open
    assert frames[1][1] == b'{"jsonrpc":"2.0","id":null,"result":1}'
    assert b"-32600" in frames[3][1]
