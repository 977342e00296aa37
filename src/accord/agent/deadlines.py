"""How long a turn has been silent and how long it has taken, the time in which the user is asked left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["TurnDeadlines"]


class TurnDeadlines:
    """`on_passed` is called once, with what has passed in words for the user.

    Questions may overlap; time counts again when the last one is answered.
    """

    def __init__(self, idle: float | None, whole: float | None, on_passed: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.idle = idle
        self._whole = whole
        self._on_passed = on_passed
        self._began = self._touched = self._loop.time()
        self._asking = 0
        self._asked_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._set()

    def touch(self) -> None:
        """A sign of life."""
        self._touched = self._loop.time()

    def pause(self) -> None:
        """The user is asked something."""
        if self._asking == 0:
            self._asked_at = self._loop.time()
            self.stop()
        self._asking += 1

    def resume(self) -> None:
        """One question is answered."""
        self._asking -= 1
        if self._asking == 0:
            waited = self._loop.time() - self._asked_at
            self._began += waited
            self._touched += waited
            self._set()

    def stop(self) -> None:
        """Nothing passes any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ends(self) -> list[tuple[float, str]]:
        ends: list[tuple[float, str]] = []
        if self._whole is not None:
            ends.append((self._began + self._whole, f"The turn took longer than {self._whole:g} s"))
        if self.idle is not None:
            ends.append((self._touched + self.idle, f"The turn showed no sign of life for {self.idle:g} s"))
        return ends

    def _set(self) -> None:
        ends = self._ends()
        if ends:
            self._timer = self._loop.call_at(min(ends)[0], self._check)

    def _check(self) -> None:
        self._timer = None
        end, what = min(self._ends())
        if self._loop.time() >= end:
            self._on_passed(what)
        else:
            self._set()
