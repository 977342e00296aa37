"""Background tasks of the screen. Law: an exception in a task is shown to the user, and no task outlives the screen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Literal, Protocol

from accord.errors import AccordError

__all__ = ["BackgroundTasks", "Notify"]

log = logging.getLogger("accord.console")


class Notify(Protocol):
    """Shows a notification, which disappears after a while."""

    def __call__(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None: ...


class BackgroundTasks:
    """Starts tasks, and cancels the rest of them at the end."""

    def __init__(self, notify: Notify) -> None:
        self.bugs: list[BaseException] = []
        """Exceptions that were not expected."""
        self._notify = notify
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
            self._notify(str(error), "error")
        elif error is not None:
            self.bugs.append(error)
            log.error("a background task failed", exc_info=error)
            self._notify(f"A bug in accord, please report it: {error!r}", "error")
