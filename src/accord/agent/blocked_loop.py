"""Logs when something blocks the event loop: that freezes every session (FN-15).

Imports by accord itself in a thread can block the loop, too, because other imports of the same module wait for them. That is
not the fault of a handler, and the log does not blame one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

log = logging.getLogger("accord.agent")


class _Imports:
    """How many imports run now, and how many ever ran."""

    running = 0
    total = 0


@contextmanager
def slow_import() -> Generator[None]:
    """Enter it, in an event loop, while something large is imported in a thread."""
    _Imports.running += 1
    _Imports.total += 1
    try:
        yield
    finally:
        _Imports.running -= 1


class BlockedLoopWatch:
    """Logs a warning when the loop was blocked for longer than `limit` seconds; None: never."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None
        self._imports = 0

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
            if self._imports != _Imports.total:
                log.info("the event loop was blocked for %.1f s while a library was imported", now - expected)
            else:
                log.warning(
                    "the event loop was blocked for %.1f s, and every session with it: "
                    "a handler blocks; make it a plain def, or use asyncio.to_thread",
                    now - expected,
                )
        self._imports = _Imports.total - _Imports.running  # imports that still run count at the next tick, too
        self._timer = loop.call_at(now + limit, self._tick, loop, limit, now + limit)
