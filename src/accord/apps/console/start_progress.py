"""Reports that an agent is still starting, so that a slow start does not look like a hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

__all__ = ["StartProgress"]

_FIRST_SECONDS = 1.5
_NEXT_SECONDS = 10.0


class StartProgress:
    """Reports as long as its `with` block: once after a moment, and then every ten seconds.

    `is_announced` says that the user was already told of the start itself.
    """

    def __init__(
        self, name: str, limit: float | None, report: Callable[[str], None] | None, *, is_announced: bool = False
    ) -> None:
        self._name = name
        self._limit = limit
        self._report = report
        self._is_announced = is_announced
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if self._report is not None:
            self._began = asyncio.get_running_loop().time()
            self._wake_at(_NEXT_SECONDS if self._is_announced else _FIRST_SECONDS)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wake_at(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(self._began + seconds, self._wake, seconds)

    def _wake(self, seconds: float) -> None:
        assert self._report is not None
        if seconds < _NEXT_SECONDS:
            self._report(f"starting {self._name!r}…")
            self._wake_at(_NEXT_SECONDS)
            return
        until = "" if self._limit is None else f", of {self._limit:g} s that --start-timeout gives it"
        self._report(f"starting {self._name!r}: no answer yet after {seconds:g} s{until}")
        self._wake_at(seconds + _NEXT_SECONDS)
