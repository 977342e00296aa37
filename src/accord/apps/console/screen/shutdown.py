"""Background tasks of the screen, and its orderly shutdown on SIGTERM and SIGHUP.

Law: an exception in a task is shown to the user, and no task outlives the screen.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from accord.errors import AccordError
from accord.peer.event_loop import end_process

log = logging.getLogger("accord.console")

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


class BackgroundTasks:
    """Starts tasks, and cancels the rest of them at the end. `on_error` shows an exception to the user."""

    def __init__(self, on_error: Callable[[str], None]) -> None:
        self.bugs: list[BaseException] = []
        """Exceptions that were not expected."""
        self._on_error = on_error
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def cancel(self) -> None:
        """Cancel all tasks that still run."""
        for task in self._tasks:
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AccordError | OSError | ValueError):
            self._on_error(str(error))
        elif error is not None:
            self.bugs.append(error)
            log.error("a background task failed", exc_info=error)
            self._on_error(f"A bug in accord, please report it: {error!r}")
