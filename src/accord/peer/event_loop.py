"""Runs the event loop of a program, with uvloop where it is installed, and ends it in bounded time.

Law: nothing that hangs keeps the program from ending (FN-37), neither a thread nor a task that does not heed its
cancellation. Both get a moment; then they are left behind.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["DaemonThreads", "end_process", "is_strict", "run", "run_until"]

log = logging.getLogger("accord")

T = TypeVar("T")

_IN_ORDER_SECONDS = 3.5  # with the three moments below, less than the five seconds that a client may count on
_CLOSING_SECONDS = 0.5  # of these; for what must be closed in any case
_MOMENT = 0.4
_NAMED = 10  # tasks that are left behind; of more than that, how many
_DESCRIPTORS = 24  # a loop, stdio, a store and one program that is started


def run(main: Coroutine[Any, Any, T], *, is_fast: bool = True) -> T:
    """Like `asyncio.run`, on the fastest loop there is, and without its waiting for threads and tasks at the end."""
    try:
        _open_the_first_three()
        _check_descriptors()
        runner = asyncio.Runner(loop_factory=_fastest() if is_fast else None)
        loop = runner.get_loop()
    except BaseException:
        main.close()
        raise
    threads = DaemonThreads()
    loop.set_default_executor(threads)
    try:
        return runner.run(main)
    finally:
        try:
            loop.run_until_complete(_end_tasks(loop))
            threads.wait(_MOMENT)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


async def run_until(
    over: asyncio.Event, work: Callable[[], Coroutine[Any, Any, None]], close: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Do the work, then close. Once it is over, both have a few seconds to come to their end; `run` leaves them behind.

    What is closed has its time also when the work does not end.
    """
    working = asyncio.create_task(work(), name="accord program")
    waiting = asyncio.create_task(over.wait(), name="accord end of input")
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        working.cancel()
        raise
    finally:
        waiting.cancel()
        loop = asyncio.get_running_loop()
        end = loop.time() + _IN_ORDER_SECONDS
        await asyncio.wait((working,), timeout=_IN_ORDER_SECONDS - _CLOSING_SECONDS)
        closing = asyncio.create_task(close(), name="accord closing")
        await asyncio.wait((closing,), timeout=end - loop.time())
    for task in (working, closing):
        if task.done():
            await task


def end_process(seconds: float, status: int) -> None:
    """Have the process end with this status after so many seconds, even if nothing else comes to its end."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    timer.start()


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads the end of the process does not wait for. asyncio accepts no other base class."""

    def __init__(self, most: int = 32) -> None:
        super().__init__(most, "accord thread")  # whose own threads are never started
        self._most = most
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._changed = threading.Condition()
        self._started = 0
        self._unfinished = 0

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        with self._changed:
            self._unfinished += 1
            is_needed = self._started < min(self._unfinished, self._most)
            self._started += is_needed
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if is_needed:
            threading.Thread(target=self._work, name=f"accord thread {self._started}", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is waited for."""

    def wait(self, seconds: float) -> bool:
        """Wait until all calls are done, but no longer; whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, seconds)

    def _work(self) -> None:
        while True:
            _do(*self._calls.get())
            with self._changed:
                self._unfinished -= 1
                self._changed.notify_all()


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # it is raised again, where it is waited for
        future.set_exception(error)
    else:
        future.set_result(result)


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=_MOMENT)
    left = [task.get_name() for task in rest if not task.done()]
    for name in left[:_NAMED]:
        log.warning("%s did not end when it was cancelled; it is left behind", name)
    if left[_NAMED:]:
        log.warning("%d more tasks did not end when they were cancelled; they are left behind", len(left) - _NAMED)
    for task in rest:
        if not task.done():
            continue
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler({"message": "a task failed at the end", "exception": error, "task": task})
    ending = asyncio.ensure_future(loop.shutdown_asyncgens())
    await asyncio.wait((ending,), timeout=_MOMENT)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return None
    return uvloop.new_event_loop


def _check_descriptors() -> None:
    # Without enough of them a loop is made by halves, and uvloop ends the process; better to say it before.
    taken: list[int] = []
    try:
        for _ in range(_DESCRIPTORS):
            taken.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  # what was opened before it fails is closed
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        told = f"{os.strerror(error.errno)}: raise the limit, for example with `ulimit -n 256`"
        raise OSError(error.errno, told) from None
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _open_the_first_three() -> None:
    # Where stdin, stdout or stderr is closed, the loop's own descriptors would get its number, and uvloop ends the
    # process when it closes one of those.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one


def is_strict() -> bool:
    """Whether `ACCORD_STRICT` asks for strict reading: unknown members, variants and loose forms are errors then."""
    return os.environ.get("ACCORD_STRICT", "") not in ("", "0")
