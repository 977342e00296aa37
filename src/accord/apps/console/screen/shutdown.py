"""Orderly shutdown on SIGTERM and SIGHUP, and the settings of the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from typing import Any

from accord.peer.event_loop import end_process

__all__ = ["ExitSignals", "tune_garbage_collector"]

_KILL_AFTER = 10.0  # seconds: enough for an agent that has to be killed
_SIGNALS = [each for name in ("SIGTERM", "SIGHUP") if (each := getattr(signal, name, None)) is not None]


class ExitSignals:
    """Calls `on_exit` with the exit status when a signal arrives, in the event loop in which `install` was called."""

    def __init__(self, on_exit: Callable[[int], None]) -> None:
        self._on_exit = on_exit
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        loop, terminal = asyncio.get_running_loop(), [number for number in (0, 1, 2) if os.isatty(number)]

        def handle(number: int, _: object) -> None:
            # Not a handler of the event loop: a write to a closed terminal could block the loop before.
            _replace_with_null([each for each in terminal if not os.isatty(each)])
            loop.call_soon_threadsafe(self._on_exit, 128 + number)
            end_process(_KILL_AFTER, 128 + number)

        for number in _SIGNALS:
            self._before[number] = signal.signal(number, handle)

    def remove(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()


def _replace_with_null(descriptors: list[int]) -> None:
    """Redirect the descriptors of a closed terminal to the null device: reading and writing would fail."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor)
    os.close(null)


def tune_garbage_collector() -> None:
    """Avoid long pauses with many small objects. Call it when all modules are loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 50)
