from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from accord.local.threads import in_thread, shielded_result


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


async def test_work_that_fails_after_its_waiter_was_cancelled_is_not_logged(caplog: pytest.LogCaptureFixture):
    """Python 3.14 logs it where `asyncio.shield` is used."""
    loop = asyncio.get_running_loop()
    work: asyncio.Future[None] = loop.create_future()
    waiter = asyncio.ensure_future(shielded_result(work))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.wait((waiter,))
    assert not work.cancelled()
    with caplog.at_level(logging.DEBUG, "asyncio"):
        work.set_exception(OSError("no"))
        await asyncio.sleep(0)
    with pytest.raises(OSError, match="no"):
        await shielded_result(work)
    assert not caplog.records
