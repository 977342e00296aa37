"""Notices when something blocks the event loop, and says so: it freezes every session (FN-15).

What accord itself loads in a thread can hold the loop up as well, because a module that is being imported is waited for.
That is nobody's handler, and nobody is blamed for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

__all__ = ["BlockedLoopWatch", "loading"]

log = logging.getLogger("accord.agent")


class _Loads:
    """What is being loaded now, and how much ever was."""

    now = 0
    ever = 0


@contextmanager
def loading() -> Generator[None]:
    """Something large is imported meanwhile, in a thread; entered and left in an event loop."""
    _Loads.now += 1
    _Loads.ever += 1
    try:
        yield
    finally:
        _Loads.now -= 1


class BlockedLoopWatch:
    """Logs a warning when the loop stood still for longer than `limit` seconds; None watches nothing."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None
        self._loads = 0

    async def __aenter__(self) -> Self:
        if self._limit is not None:
            self._tick(asyncio.get_running_loop(), self._limit, None)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self, loop: asyncio.AbstractEventLoop, limit: float, expected: float | None) -> None:
        now = loop.time()
        if expected is not None and now - expected > limit:
            if self._loads != _Loads.ever:
                log.info("the event loop stood still for %.1f s while a library was loaded", now - expected)
            else:
                log.warning(
                    "the event loop stood still for %.1f s, and every session with it: "
                    "a handler blocks; make it a plain def, or use asyncio.to_thread",
                    now - expected,
                )
        self._loads = _Loads.ever - _Loads.now  # what is still being loaded counts at the next tick, too
        self._timer = loop.call_at(now + limit, self._tick, loop, limit, now + limit)
