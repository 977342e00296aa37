"""What ends a run before its time: Ctrl-C, a signal, a deadline, nobody who reads.

Law: the first asks the agent to stop, the second ends it with all that it started, the third ends us at once, and the
guard in front of the agent does the rest. Where nothing comes to its end, SIGTERM and SIGHUP end us all the same.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from accord.apps.console.errors import ExitStatus
from accord.client.reply import Reply
from accord.peer.event_loop import end_process

_PATIENCE = 10.0  # enough for an agent that has to be killed


class Interrupts:
    """`status` is what the run was ended with; None while nobody wants it to end."""

    def __init__(self, work: asyncio.Task[object], on_stopping: Callable[[ExitStatus], None]) -> None:
        self.status: ExitStatus | None = None
        self.turn: Reply | None = None
        self.is_unheeded = False
        """Whether everything was ended while the agent still owed the end of a turn that it was asked to stop."""
        self._work = work
        self._on_stopping = on_stopping
        self._interrupts = 0
        self._cancelling: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self, timeout: float | None) -> Generator[None]:
        """While inside, signals and the deadline are heard."""
        loop = asyncio.get_running_loop()
        timer = None if timeout is None else loop.call_later(timeout, self.stop, ExitStatus.TIMEOUT)
        signals = _signals()
        for number, status in signals.items():
            loop.add_signal_handler(number, self._signalled, status)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)
            if timer is not None:
                timer.cancel()
            if self._cancelling is not None:
                self._cancelling.cancel()

    def stop(self, status: ExitStatus) -> None:
        """Let the turn be cancelled, if one runs; else, or when it was asked for before, end everything."""
        is_first = self.status is None
        self.status = self.status or status
        if is_first and self.turn is not None and not self.turn.is_over:
            self._on_stopping(status)
            self._cancelling = asyncio.create_task(self.turn.cancel(), name="accord cancel")
        else:
            self.end(status)

    def end(self, status: ExitStatus) -> None:
        """End everything now, in order."""
        self.status = self.status or status
        self.is_unheeded = self._cancelling is not None and self.turn is not None and not self.turn.is_over
        self._work.cancel()

    def _signalled(self, status: ExitStatus) -> None:
        self._interrupts += 1
        if self._interrupts >= 3:
            os._exit(status)
        if status is ExitStatus.INTERRUPTED:
            self.stop(status)
        else:
            self.end(status)
            end_process(_PATIENCE, status)


def _signals() -> dict[int, ExitStatus]:
    if sys.platform == "win32":  # asyncio has no signal handlers there; Ctrl-C is a KeyboardInterrupt
        return {}
    return {
        signal.SIGINT: ExitStatus.INTERRUPTED,
        signal.SIGTERM: ExitStatus.TERMINATED,
        signal.SIGHUP: ExitStatus.HANGUP,
    }
