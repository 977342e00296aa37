from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.errors import ConnectionClosed
from accord.peer import Limits, Peer
from accord.transports import memory
from tests.peer.joined import joined, value
from tests.virtual_clock import run


async def never(params: Any) -> Any:
    await asyncio.Event().wait()


async def test_every_pending_request_fails_when_the_other_side_goes():
    """FN-10: no request waits for an answer that cannot come."""
    async with joined(theirs={"test/never": never}) as (us, them):
        waiting = [asyncio.create_task(us.request("test/never")) for _ in range(5)]
        await asyncio.sleep(0)
        await them.aclose()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, Exception) for outcome in outcomes)


async def test_the_handlers_of_a_vanished_client_are_ended():
    """FN-37: end of input ends what was being done for it."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def prompt(params: Any) -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with joined(theirs={"session/prompt": prompt}) as (us, them):
        us.send_request("session/prompt")
        await started.wait()
        await us.aclose()
        await ended.wait()
        await them.wait_closed()
        assert not them.is_open


async def test_a_handler_that_refuses_to_end_does_not_hold_up_the_end():
    release = asyncio.Event()

    async def stubborn(params: Any) -> Any:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    limits = Limits(close_grace_seconds=0.01)
    async with joined(theirs={"test/stubborn": stubborn}, their_options={"limits": limits}) as (us, them):
        us.send_request("test/stubborn")
        await asyncio.sleep(0)
        await them.aclose()
        assert not them.is_open
        release.set()


@pytest.mark.parametrize(
    ("limits", "needs", "waits"),
    [(None, 4, 4), (None, 1000, 5), (Limits(close_grace_seconds=20), 1000, 20)],
    ids=["ends in time", "does not", "does not, and has longer"],
)
def test_a_handler_has_a_grace_to_end_in_and_no_more(limits: Limits | None, needs: float, waits: float):
    """Five seconds, unless the limits say otherwise."""
    ended: list[str] = []

    async def stubborn(params: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(needs)
            ended.append("by itself")

    async def main() -> None:
        options = {} if limits is None else {"limits": limits}
        async with joined(theirs={"test/stubborn": stubborn}, their_options=options) as (us, them):
            us.send_request("test/stubborn")
            await asyncio.sleep(1)
            began = asyncio.get_running_loop().time()
            await them.aclose()
            assert asyncio.get_running_loop().time() - began == pytest.approx(waits)
            assert ended == (["by itself"] if needs == waits else [])

    run(main())


async def test_closing_works_from_any_task_and_as_often_as_one_likes():
    async with joined() as (us, them):
        await asyncio.gather(*(asyncio.create_task(us.aclose()) for _ in range(5)))
        await us.aclose()
        await them.wait_closed()


async def test_a_handler_may_close_the_connection_it_serves():
    async def close(params: Any) -> Any:
        await peers[0].aclose()
        await asyncio.Event().wait()

    peers: list[Peer] = []
    async with joined(theirs={"test/close": close}) as (us, them):
        peers.append(them)
        with pytest.raises(Exception, match=r"cancelled|closed"):
            await us.request("test/close")
        await them.wait_closed()


async def test_a_cancelled_close_still_closes():
    async with joined() as (us, _):
        closing = asyncio.create_task(us.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await us.wait_closed()
        assert not us.is_open


class NeverOpens:
    unsent = 0
    is_closed = False

    async def open(self, receiver: Any) -> None:
        await asyncio.Event().wait()

    def send(self, frame: bytes) -> None:
        raise AssertionError

    def pause_receiving(self) -> None:
        raise AssertionError

    def resume_receiving(self) -> None:
        raise AssertionError

    async def aclose(self) -> None:
        self.is_closed = True


async def test_closing_while_it_opens_ends_the_opening():
    transport = NeverOpens()
    peer = Peer(transport, lambda event: None)
    opening = asyncio.create_task(peer.open())
    await asyncio.sleep(0)
    await peer.aclose()
    with pytest.raises(ConnectionClosed):
        await opening
    assert transport.is_closed


async def test_a_cancelled_opening_closes_what_it_had_begun():
    transport = NeverOpens()
    peer = Peer(transport, lambda event: None)
    opening = asyncio.create_task(peer.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert transport.is_closed


async def test_an_inbox_ends_with_the_connection_and_says_why():
    async with joined() as (us, them):
        queue = us.new_queue()
        queue.put("still there", 1)
        await them.aclose()
        assert await anext(queue) == "still there"
        with pytest.raises(ConnectionClosed):
            await anext(queue)
        with pytest.raises(ConnectionClosed):
            await anext(us.new_queue())


async def test_whoever_wants_to_know_is_told_once_that_it_is_over():
    reasons: list[ConnectionClosed] = []
    async with joined(our_options={"on_closed": reasons.append}) as (us, them):
        await them.aclose()
        await us.wait_closed()
    assert len(reasons) == 1


async def test_a_failing_observer_does_not_disturb_the_connection():
    def observe(direction: str, frame: bytes) -> None:
        raise RuntimeError("observer")

    async def echo(params: Any) -> Any:
        return params

    async with joined(theirs={"test/echo": echo}, our_options={"on_frame": observe}) as (us, _):
        assert value(await us.request("test/echo", {"a": 1})) == {"a": 1}


async def test_a_failing_receiver_does_not_disturb_the_connection():
    async def echo(params: Any) -> Any:
        return params

    def receive(event: Any) -> Any:
        if hasattr(event, "request"):
            return echo(1)
        raise RuntimeError("receiver")

    async with joined(theirs=receive) as (us, _):
        await us.notify("test/told")
        assert value(await us.request("test/echo")) == 1


async def test_a_peer_on_a_transport_that_cannot_be_opened_says_so():
    one, two = memory.memory_pair()
    await two.aclose()
    peer = Peer(one, lambda event: None)
    try:
        await peer.open()
    except ConnectionClosed:
        pass
    else:
        await peer.wait_closed()
    assert not peer.is_open
    await peer.aclose()


async def test_a_peer_is_opened_only_once():
    async with joined() as (us, _):
        with pytest.raises(RuntimeError, match="only once"):
            await us.open()
        assert us.is_open


async def test_what_is_told_of_the_end_and_fails_keeps_nobody_from_closing(caplog: pytest.LogCaptureFixture):
    def tell(reason: ConnectionClosed) -> None:
        raise ValueError("no")

    async with joined(our_options={"on_closed": tell}) as (us, _):
        await us.aclose()
    assert [record.message for record in caplog.records] == ["the callback for the end of the connection failed"]
