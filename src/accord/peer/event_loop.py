"""Runs the event loop of a program, with uvloop if it is installed, and ends it in bounded time.

Law: neither a thread that hangs nor a task that ignores its cancellation keeps the program from ending (FN-37). Both get
a short time; then they are abandoned.
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

log = logging.getLogger("accord")

T = TypeVar("T")

_SHUTDOWN_SECONDS = 3.5  # with the three waits below, less than the five seconds that a client may wait
_CLOSE_SECONDS = 0.5  # part of these, for `close` in any case
_WAIT_SECONDS = 0.4
_LOGGED_TASKS = 10  # abandoned tasks that are logged by name; the others are counted
_DESCRIPTORS = 24  # for a loop, stdio, a store and one child process


def run(main: Coroutine[Any, Any, T], *, is_fast: bool = True) -> T:
    """Like `asyncio.run`, but on the fastest loop available, and with bounded waits for threads and tasks at the end."""
    try:
        _open_standard_descriptors()
        _check_descriptors()
        runner = asyncio.Runner(loop_factory=_fastest_loop() if is_fast else None)
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
            threads.wait(_WAIT_SECONDS)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


async def run_until(
    stop: asyncio.Event, work: Callable[[], Coroutine[Any, Any, None]], close: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Run the work, then close. After `stop` is set, both have a few seconds to end; then `run` abandons them.

    `close` has its time even if the work does not end.
    """
    work_task = asyncio.create_task(work(), name="accord program")
    stop_task = asyncio.create_task(stop.wait(), name="accord end of input")
    try:
        await asyncio.wait((work_task, stop_task), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work_task.cancel()
        raise
    finally:
        stop_task.cancel()
        loop = asyncio.get_running_loop()
        end = loop.time() + _SHUTDOWN_SECONDS
        await asyncio.wait((work_task,), timeout=_SHUTDOWN_SECONDS - _CLOSE_SECONDS)
        close_task = asyncio.create_task(close(), name="accord closing")
        await asyncio.wait((close_task,), timeout=end - loop.time())
    for task in (work_task, close_task):
        if task.done():
            await task


def end_process(seconds: float, status: int) -> None:
    """End the process with this status after this many seconds, whatever still runs."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    timer.start()


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads do not delay the end of the process. asyncio requires this base class."""

    def __init__(self, max_threads: int = 32) -> None:
        super().__init__(max_threads, "accord thread")  # its own threads are never started
        self._max_threads = max_threads
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._changed = threading.Condition()
        self._started = 0
        self._unfinished = 0

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        with self._changed:
            self._unfinished += 1
            is_needed = self._started < min(self._unfinished, self._max_threads)
            self._started += is_needed
        self._calls.put((future, partial(fn, *args, **kwargs)))
        if is_needed:
            threading.Thread(target=self._work, name=f"accord thread {self._started}", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does not wait."""

    def wait(self, seconds: float) -> bool:
        """Wait until all calls are done, at most this long; whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, seconds)

    def _work(self) -> None:
        while True:
            _run_call(*self._calls.get())
            with self._changed:
                self._unfinished -= 1
                self._changed.notify_all()


def _run_call(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # raised in the task that awaits the future
        future.set_exception(error)
    else:
        future.set_result(result)


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_WAIT_SECONDS)
    stuck = [task.get_name() for task in tasks if not task.done()]
    for name in stuck[:_LOGGED_TASKS]:
        log.warning("%s did not end when it was cancelled; it is abandoned", name)
    if stuck[_LOGGED_TASKS:]:
        log.warning("%d more tasks did not end when they were cancelled", len(stuck) - _LOGGED_TASKS)
    for task in tasks:
        if not task.done():
            continue
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler(
                {"message": "a task failed while the program ended", "exception": error, "task": task}
            )
    shutdown = asyncio.ensure_future(loop.shutdown_asyncgens())
    await asyncio.wait((shutdown,), timeout=_WAIT_SECONDS)


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # an extra
    except ImportError:
        return None
    return uvloop.new_event_loop


def _check_descriptors() -> None:
    # Without enough descriptors the loop fails half-way and uvloop aborts the process; so check first.
    descriptors: list[int] = []
    try:
        for _ in range(_DESCRIPTORS):
            descriptors.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401  # closed if a later one fails
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        message = f"{os.strerror(error.errno)}: raise the limit, for example with `ulimit -n 256`"
        raise OSError(error.errno, message) from None
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _open_standard_descriptors() -> None:
    # If stdin, stdout or stderr is closed, a descriptor of the loop would get its number, and uvloop aborts the process
    # when it closes one of those.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def is_strict() -> bool:
    """Whether `ACCORD_STRICT` turns on strict reading: unknown members, variants and loose forms are errors."""
    return os.environ.get("ACCORD_STRICT", "") not in ("", "0")
