"""One thread does what it is asked for in order, and lets nobody wait for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from accord.store.worker_thread import Worker


class Refused(Exception):  # noqa: N818  # exceptions are facts
    pass


def nothing() -> None:
    """What an worker without duties does."""


def worker(
    on_time: Callable[[], None] = nothing,
    at_end: Callable[[], None] = nothing,
    on_abandoned: Callable[[], None] = nothing,
    patience: float = 9.0,
) -> Worker:
    return Worker("tested", on_time, at_end, on_abandoned, patience)


class Disk:
    """Something that hangs until it is released."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._released = threading.Event()

    def write(self) -> str:
        self.reached.set()
        self._released.wait()
        return "written"

    def release(self) -> None:
        self._released.set()


async def reached(disk: Disk) -> None:
    """Wait for the worker to hang, in a loop that goes on meanwhile."""
    await asyncio.get_running_loop().run_in_executor(None, disk.reached.wait)


async def test_calls_are_done_in_order_by_one_other_thread():
    one = worker()
    done: list[int] = []
    threads = await asyncio.gather(
        *[
            one.call(lambda number=number: (done.append(number), threading.get_ident())[1], Refused)
            for number in range(50)
        ]
    )
    assert done == [*range(50)]
    assert len({*threads}) == 1
    assert threads[0] != threading.get_ident()
    await one.end(Refused)


async def test_an_exception_is_the_callers_and_nobody_elses():
    one = worker()
    with pytest.raises(ZeroDivisionError):
        await one.call(lambda: 1 / 0, Refused)
    assert await one.call(lambda: 1, Refused) == 1
    await one.end(Refused)


async def test_a_slow_disk_keeps_only_its_caller_waiting():
    one, disk = worker(), Disk()
    slow = asyncio.ensure_future(one.call(disk.write, Refused))
    await reached(disk)
    assert not slow.done()
    disk.release()
    assert await slow == "written"
    await one.end(Refused)


async def test_a_caller_that_gives_up_disturbs_nobody():
    one, disk = worker(), Disk()
    slow = asyncio.ensure_future(one.call(disk.write, Refused))
    await reached(disk)
    slow.cancel()
    next_call = asyncio.ensure_future(one.call(lambda: 2, Refused))
    disk.release()
    assert await next_call == 2
    assert slow.cancelled()
    await one.end(Refused)


async def test_what_was_asked_for_is_done_before_the_end():
    done: list[str] = []
    one, disk = worker(at_end=lambda: done.append("end")), Disk()
    calls = [asyncio.ensure_future(one.call(disk.write, Refused))]
    calls += [asyncio.ensure_future(one.call(lambda: done.append("call") or "done", Refused))]
    await reached(disk)
    ending = asyncio.ensure_future(one.end(Refused))
    again = asyncio.ensure_future(one.end(Refused))
    disk.release()
    await asyncio.gather(ending, again)
    assert [await call for call in calls] == ["written", "done"]
    assert done == ["call", "end"]
    await one.end(Refused)
    with pytest.raises(Refused):
        await one.call(lambda: 1, Refused)


async def test_what_the_end_raises_is_told_to_whoever_ends_it():
    def failing() -> None:
        raise ZeroDivisionError

    one = worker(at_end=failing)
    await one.call(lambda: 1, Refused)
    with pytest.raises(ZeroDivisionError):
        await one.end(Refused)
    await one.end(Refused)


async def test_every_wait_ends_with_the_owner_however_long_the_disk_hangs():
    ended = threading.Event()
    one, disk = worker(at_end=ended.set, patience=0.01), Disk()
    calls = [asyncio.ensure_future(one.call(disk.write, Refused)) for _ in range(3)]
    await reached(disk)
    with pytest.raises(Refused):
        await one.end(Refused)
    assert [type(outcome) for outcome in await asyncio.gather(*calls, return_exceptions=True)] == [Refused] * 3
    disk.release()
    ended.wait()


async def test_an_owner_that_did_nothing_just_ends():
    await worker().end(Refused)


async def test_an_alarm_rings_even_while_the_loop_is_blocked():
    rung = threading.Event()
    one = worker(on_time=rung.set)
    one.set_alarm(0.001)
    assert rung.wait(9)
    await one.end(Refused)


async def test_an_alarm_that_fails_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture):
    rung = threading.Event()

    def failing() -> None:
        rung.set()
        raise ZeroDivisionError

    one = worker(on_time=failing)
    one.set_alarm(0)
    assert rung.wait(9)
    assert await one.call(lambda: 1, Refused) == 1
    assert "ZeroDivisionError" in caplog.text
    await one.end(Refused)


async def test_of_two_alarms_the_first_one_set_counts():
    rung = threading.Event()
    one = worker(on_time=rung.set)
    one.set_alarm(0.001)
    one.set_alarm(3600)
    assert rung.wait(9)
    await one.end(Refused)


async def test_an_alarm_far_off_delays_neither_calls_nor_the_end():
    one = worker(on_time=lambda: pytest.fail("too early"))
    one.set_alarm(3600)
    assert await one.call(lambda: 1, Refused) == 1
    await one.end(Refused)


async def test_calls_from_several_loops_each_get_their_own_answer():
    one = worker()

    def elsewhere() -> int:
        return asyncio.run(one.call(threading.get_ident, Refused))

    here = await one.call(threading.get_ident, Refused)
    assert await asyncio.gather(*[asyncio.to_thread(elsewhere) for _ in range(4)]) == [here] * 4
    await one.end(Refused)


def test_a_loop_that_is_closed_meanwhile_is_nobodys_problem():
    one, disk = worker(), Disk()

    async def impatient() -> None:
        asyncio.ensure_future(one.call(disk.write, Refused))  # noqa: RUF006  # left behind on purpose
        await reached(disk)

    asyncio.run(impatient())
    disk.release()
    assert asyncio.run(one.call(lambda: "alive", Refused)) == "alive"
    asyncio.run(one.end(Refused))


async def test_whoever_stops_waiting_for_the_end_is_noticed_and_the_work_goes_on():
    disk, abandoned = Disk(), threading.Event()
    one = worker(on_abandoned=abandoned.set)
    writing = asyncio.ensure_future(one.call(disk.write, Refused))
    await reached(disk)
    ending = asyncio.ensure_future(one.end(Refused))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert abandoned.is_set()
    disk.release()
    assert await writing == "written"


async def test_an_end_that_takes_too_long_is_noticed():
    disk, abandoned = Disk(), threading.Event()
    one = worker(on_abandoned=abandoned.set, patience=0)
    writing = asyncio.ensure_future(one.call(disk.write, Refused))
    await reached(disk)
    with pytest.raises(Refused):
        await one.end(Refused)
    with pytest.raises(Refused):
        await writing
    assert abandoned.is_set()
    disk.release()


async def test_an_end_in_time_abandons_nothing():
    abandoned = threading.Event()
    one = worker(on_abandoned=abandoned.set)
    await one.call(nothing, Refused)
    await one.end(Refused)
    assert not abandoned.is_set()
