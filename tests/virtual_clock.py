"""An event loop whose time passes only when there is nothing else to do, and which notices that nothing ever will."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):  # noqa: N818  # exceptions are facts
    """Every task waits, and no timer is set: a real program would hang here."""


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: VirtualClockLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if self._loop.outside and timeout != 0 else 0)
        if not ready:
            if timeout is None:
                raise Deadlock
            self._loop.now += max(timeout, 0)
        return ready


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """For code without real input and output.

    While `outside` is not 0 somebody waits for another thread, and time stands still.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.outside = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        self.outside += 1
        work = super().run_in_executor(executor, func, *args)
        work.add_done_callback(self._returned)
        return work

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # as asyncio has it
        self.outside += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self.outside -= 1

    def _returned(self, work: object) -> None:
        self.outside -= 1


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, in no time at all."""
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(main)
