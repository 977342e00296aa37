"""Ends the screen on a signal without losing anything, and keeps the garbage collector from stopping it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from typing import Any

from accord.peer.event_loop import end_process

__all__ = ["Ending", "keep_collector_calm"]

_PATIENCE = 10.0  # enough for an agent that has to be killed
_SIGNALS = [each for name in ("SIGTERM", "SIGHUP") if (each := getattr(signal, name, None)) is not None]


class Ending:
    """`leave` gets the exit status, within the loop that `heed` is called in."""

    def __init__(self, leave: Callable[[int], None]) -> None:
        self._leave = leave
        self._before: dict[int, Any] = {}

    def heed(self) -> None:
        """From now on, until `forget`."""
        loop, terminal = asyncio.get_running_loop(), [number for number in (0, 1, 2) if os.isatty(number)]

        def told(number: int, _: object) -> None:
            # Not a handler of the loop's: what is written to a terminal that is gone could stop the loop before.
            _let_go_of([each for each in terminal if not os.isatty(each)])
            loop.call_soon_threadsafe(self._leave, 128 + number)
            end_process(_PATIENCE, 128 + number)

        for number in _SIGNALS:
            self._before[number] = signal.signal(number, told)

    def forget(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()


def _let_go_of(descriptors: list[int]) -> None:
    """The terminal was closed: nothing can be read from it or written to it any more, and trying fails."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def keep_collector_calm() -> None:
    """For a program that holds many small objects for long; call it when all modules are loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 50)
