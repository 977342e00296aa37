from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from accord.transports.resumption import Backoff, SentFrames


def new_frames(count: int) -> SentFrames:
    sent = SentFrames()
    for number in range(count):
        sent.add(b"%d" % number)
    return sent


def test_what_is_not_confirmed_is_kept():
    sent = new_frames(5)
    assert sent.after(0) == [b"0", b"1", b"2", b"3", b"4"]
    sent.confirm(2)
    sent.confirm(1)  # which is known already
    assert (sent.after(2), sent.after(4), sent.after(5)) == ([b"2", b"3", b"4"], [b"4"], [])
    assert (sent.count, sent.size) == (5, 3)


def test_what_is_gone_or_was_never_sent_is_not_there():
    sent = new_frames(5)
    sent.confirm(2)
    for number in (0, 1, 6):
        with pytest.raises(LookupError):
            sent.after(number)
    for number in (-1, 6):
        with pytest.raises(ValueError, match="were sent"):
            sent.confirm(number)


def test_the_oldest_frames_go_first():
    sent = new_frames(5)
    sent.shrink(2)
    assert (sent.after(3), sent.size) == ([b"3", b"4"], 2)
    sent.shrink(0)
    assert (sent.after(5), sent.size) == ([], 0)


async def test_the_waits_grow_and_end_although_timers_ring_early(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    waits: list[float] = []

    async def ring_early(seconds: float) -> None:
        nonlocal now
        waits.append(seconds)
        now += seconds - 0.0001

    backoff = Backoff(30)
    monkeypatch.setattr(backoff, "_end", 30.0)
    monkeypatch.setattr(backoff, "_loop", SimpleNamespace(time=lambda: now))
    monkeypatch.setattr(asyncio, "sleep", ring_early)
    while await backoff.wait():
        assert len(waits) < 100
    assert sum(waits) == pytest.approx(30, abs=0.1)
    assert waits[0] < 1 < max(waits)
    assert len(waits) < 40
