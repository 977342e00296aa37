"""Tells, while an agent starts and has not answered yet, that it is being waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

__all__ = ["StartWatch"]

_FIRST_SECONDS = 1.5
_NEXT_SECONDS = 10.0


class StartWatch:
    """As long as its `with` block: once after a moment, and then every ten seconds.

    `is_told` says that the start itself was told already.
    """

    def __init__(
        self, name: str, limit: float | None, tell: Callable[[str], None] | None, *, is_told: bool = False
    ) -> None:
        self._name = name
        self._limit = limit
        self._tell = tell
        self._is_told = is_told
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        if self._tell is not None:
            self._began = asyncio.get_running_loop().time()
            self._wake_at(_NEXT_SECONDS if self._is_told else _FIRST_SECONDS)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wake_at(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(self._began + seconds, self._wake, seconds)

    def _wake(self, seconds: float) -> None:
        assert self._tell is not None
        if seconds < _NEXT_SECONDS:
            self._tell(f"starting {self._name!r}…")
            self._wake_at(_NEXT_SECONDS)
            return
        until = "" if self._limit is None else f", of {self._limit:g} s that --start-timeout gives it"
        self._tell(f"starting {self._name!r}: no answer yet after {seconds:g} s{until}")
        self._wake_at(seconds + _NEXT_SECONDS)
