from __future__ import annotations

import asyncio
import threading

import pytest

from accord.local.blocking import in_thread


async def test_whoever_gives_up_waiting_waits_for_the_thread_all_the_same():
    begun, go = threading.Event(), threading.Event()
    done: list[str] = []

    def call() -> None:
        begun.set()
        go.wait(10)
        done.append("thread")

    waiting = asyncio.create_task(in_thread(call))
    await asyncio.to_thread(begun.wait, 10)
    waiting.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == ["thread"]
