"""Notices when something blocks the event loop, and says so: it freezes every session (FN-15)."""

from __future__ import annotations

import asyncio
import logging
from typing import Self

__all__ = ["SlowLoopWatch"]

log = logging.getLogger("accord.agent")


class SlowLoopWatch:
    """Logs a warning when the loop stood still for longer than `limit` seconds; None watches nothing."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None

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
            log.warning(
                "the event loop stood still for %.1f s, and every session with it: "
                "a handler blocks; make it a plain def, or use asyncio.to_thread",
                now - expected,
            )
        self._timer = loop.call_at(now + limit, self._tick, loop, limit, now + limit)
