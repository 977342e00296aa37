"""The deadlines of a turn: its longest silence and its longest duration, without the time spent waiting for the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class TurnDeadlines:
    """Requests to the user may overlap; time counts again when the last one is answered."""

    def __init__(self, idle: float | None, total: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self.idle = idle
        self._total = total
        self._started = self._touched = self._loop.time()
        self._pauses = 0
        self._paused_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._on_expire: Callable[[str], None]

    def start(self, on_expire: Callable[[str], None]) -> None:
        """Call `on_expire` once, with a reason for the user, when a deadline has passed."""
        self._on_expire = on_expire
        self._set_timer()

    def touch(self) -> None:
        """The turn is active: its silence begins anew."""
        self._touched = self._loop.time()

    def pause(self) -> None:
        """A request to the user is open."""
        if self._pauses == 0:
            self._paused_at = self._loop.time()
            self.stop()
        self._pauses += 1

    def resume(self) -> None:
        """A request to the user is answered."""
        self._pauses -= 1
        if self._pauses == 0:
            pause = self._loop.time() - self._paused_at
            self._started += pause
            self._touched += pause
            self._set_timer()

    def stop(self) -> None:
        """No deadline passes any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ends(self) -> list[tuple[float, str]]:
        ends: list[tuple[float, str]] = []
        if self._total is not None:
            ends.append((self._started + self._total, f"The turn timed out after {self._total:g} s"))
        if self.idle is not None:
            ends.append((self._touched + self.idle, f"The turn timed out: no activity for {self.idle:g} s"))
        return ends

    def _set_timer(self) -> None:
        ends = self._ends()
        if ends:
            self._timer = self._loop.call_at(min(ends)[0], self._check)

    def _check(self) -> None:
        self._timer = None
        end, reason = min(self._ends())
        if self._loop.time() >= end:
            self._on_expire(reason)
        else:
            self._set_timer()
