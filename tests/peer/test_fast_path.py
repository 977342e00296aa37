"""A peer whose user knows a short way for some frames."""

from __future__ import annotations

import pytest

from accord.errors import ConnectionClosed
from tests.peer.joined import joined, receiver, until, value


async def test_frames_go_the_short_way_or_the_long_one_and_keep_their_order():
    heard: list[tuple[str, object]] = []
    observed: list[bytes] = []

    def take(frame: bytes) -> bool:
        if b"short" in frame:
            heard.append(("taken", frame))
        return b"short" in frame

    async def answer(params: object) -> str:
        return "done"

    ours = receiver({"ask": answer}, heard)
    options = {"on_frame": lambda direction, frame: observed.append(frame) if direction == "received" else None}
    async with joined(ours, {}, options) as (us, them):
        us.fast_path = take
        for method in ("short", "long", "short", "short", "long"):
            them.post(method, {})
        assert value(await them.request("ask", {})) == "done"
    assert [kind for kind, _ in heard] == ["taken", "long", "taken", "taken", "long"]
    assert len(observed) == 6


async def test_a_short_way_that_fails_costs_one_frame(caplog: pytest.LogCaptureFixture):
    heard: list[tuple[str, object]] = []

    def take(frame: bytes) -> bool:
        if b"bad" in frame:
            raise ValueError("no")
        return False

    async with joined(receiver({}, heard), {}) as (us, them):
        us.fast_path = take
        for method in ("good", "bad", "good"):
            them.post(method, {})
        await until(lambda: len(heard) == 2)
    assert [record.message for record in caplog.records] == ["a notification could not be handled"]


async def test_nothing_is_taken_once_the_connection_has_ended():
    taken: list[bytes] = []
    async with joined({}, {}) as (us, _):

        def take(frame: bytes) -> bool:
            taken.append(frame)
            us.connection_lost(ConnectionClosed("enough"))
            return True

        us.fast_path = take
        us.frames_received([b'{"jsonrpc":"2.0","method":"a"}', b'{"jsonrpc":"2.0","method":"b"}'])
    assert len(taken) == 1


async def test_what_is_posted_tells_whether_there_is_room():
    async with joined({}, {}) as (us, _):
        assert us.has_room
        assert us.post("a", {})
        us.send_paused()
        assert not us.has_room
        assert not us.post("b", {})
        us.send_resumed()
        assert us.post_frame(b'{"jsonrpc":"2.0","method":"c"}')
    assert not us.has_room
    assert not us.post_frame(b'{"jsonrpc":"2.0","method":"d"}')
    with pytest.raises(ConnectionClosed):
        us.post("e", {})
