"""A thread that owns what only one thread may touch, such as a database.

Laws: calls are done one after the other, in the order in which they were made, and never in the thread of an event
loop, so a slow disk keeps its callers waiting and nobody else. Every wait ends: with the outcome, or with the worker.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

log = logging.getLogger("accord.store")

T = TypeVar("T")


class _Call:
    """Somebody in an event loop who waits for a thread."""

    __slots__ = ("_loop", "future", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def do(self) -> None:
        try:
            result = self.work()
        except BaseException as error:  # noqa: BLE001  # whatever it is, it belongs to the caller
            self.fail(error)
        else:
            self._tell(self.future.set_result, result)

    def fail(self, error: BaseException) -> None:
        self._tell(self.future.set_exception, error)

    def _tell(self, settle: Callable[[Any], None], outcome: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(lambda: None if self.future.done() else settle(outcome))
        except RuntimeError:  # the loop is closed: nobody waits
            return


class Worker:
    """Does calls in its thread, and `on_time` when an alarm is due; `at_end` is the last thing it does.

    The thread starts when it is first needed. It is a daemon: a disk that hangs does not keep the process alive. A
    program that ends without `end` leaves it `patience` seconds. `on_abandoned` is called when it was not waited for
    until it had ended.
    """

    def __init__(
        self,
        name: str,
        on_time: Callable[[], None],
        at_end: Callable[[], None],
        on_abandoned: Callable[[], None],
        patience: float,
    ) -> None:
        self._name = name
        self._on_time = on_time
        self._at_end = at_end
        self._on_abandoned = on_abandoned
        self._patience = patience
        self._wake = threading.Condition()
        self._calls: deque[_Call] = deque()
        self._doing: _Call | None = None
        self._alarm: float | None = None
        self._thread: threading.Thread | None = None
        self._enders: list[_Call] = []
        self._failure: BaseException | None = None
        self._over = False
        self.ending_since: float | None = None
        """When `end` was called: nothing is accepted any more."""

    @property
    def ending(self) -> bool:
        """Whether `end` was called."""
        return self.ending_since is not None

    async def call(self, work: Callable[[], T], refused: Callable[[], Exception]) -> T:
        """The outcome of `work`, done after all that was asked for before; raises `refused()` once it is ending."""
        with self._wake:
            if self.ending:
                raise refused()
            call = self._queue(work)
        return await call.future

    def set_alarm(self, seconds: float) -> None:
        """Have `on_time` called in so many seconds, whatever the event loop does; one that is set stays as it is."""
        with self._wake:
            if self._alarm is None:
                self._alarm = monotonic() + seconds
                self._start()
                self._wake.notify()

    async def end(self, refused: Callable[[], Exception]) -> None:
        """Do all that was asked for and then `at_end`, whose exception is raised here. Safe to call twice.

        When that takes longer than its patience, whoever still waits gets `refused()`, also this call.
        """
        with self._wake:
            self._begin_to_end()
            if self._thread is None or self._over:
                return
            call = _Call(self._outcome)
            self._enders.append(call)
        try:
            await asyncio.wait([call.future], timeout=self._patience)
        except asyncio.CancelledError:
            self._on_abandoned()  # what is under way goes on as long as the process does
            raise
        finally:
            atexit.unregister(self._end_at_exit)  # whoever did not wait here does not wait there
        if not call.future.done():
            self._abandon(refused)
        await call.future

    def _begin_to_end(self) -> None:
        if self.ending_since is None:
            self.ending_since = monotonic()
        self._wake.notify()

    def _outcome(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _abandon(self, refused: Callable[[], Exception]) -> None:
        with self._wake:
            waiting = [*([] if self._doing is None else [self._doing]), *self._calls, *self._enders]
            self._calls.clear()
        for call in waiting:
            call.fail(refused())
        self._on_abandoned()

    def _end_at_exit(self) -> None:
        with self._wake:
            self._begin_to_end()
        if self._thread is not None:
            self._thread.join(self._patience)
            if self._thread.is_alive():
                self._on_abandoned()

    def _queue(self, work: Callable[[], Any]) -> _Call:
        call = _Call(work)
        self._calls.append(call)
        self._start()
        self._wake.notify()
        return call

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
            atexit.register(self._end_at_exit)

    def _run(self) -> None:
        while (step := self._next_step()) is not None:
            step()
        try:
            self._at_end()
        except BaseException as error:  # noqa: BLE001  # whoever ends it is told
            self._failure = error
        with self._wake:
            self._over = True
        for call in self._enders:
            call.do()

    def _ring(self) -> None:
        try:
            self._on_time()
        except Exception:  # without the thread, everybody would wait for ever
            log.exception("%s failed", self._name)

    def _next_step(self) -> Callable[[], None] | None:
        with self._wake:
            self._doing = None
            while True:
                if self._alarm is not None and self._alarm <= monotonic():
                    self._alarm = None
                    return self._ring
                if self._calls:
                    self._doing = self._calls.popleft()
                    return self._doing.do
                if self.ending:
                    return None
                self._wake.wait(None if self._alarm is None else self._alarm - monotonic())
