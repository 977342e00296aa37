"""The terminal in another program's hands: an editor, a login. Law: however that program ends, the screen comes back.

The agent goes on meanwhile; what it says is shown afterwards.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from accord.apps.console.failures import ConsoleFailed
from accord.client.commands import Command
from accord.client.login import run_in_terminal

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["HandingOver"]


class HandingOver:
    """One program at a time; the next one waits."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._terminal = asyncio.Lock()

    @property
    def is_away(self) -> bool:
        """Whether nothing may be written to the terminal now."""
        return self._terminal.locked()

    async def run(self, command: Command) -> int:
        """Its exit code; OSError when it can't be started, ConsoleFailed without a terminal."""
        async with self._terminal:
            code = await self._run(command)
        self._app.showing.window_title()  # it may be another now
        return code

    async def _run(self, command: Command) -> int:
        app, code, failure = self._app, 0, None
        try:
            # Textual draws on when it is suspended, into a queue that nobody empties: full, it would stop everything.
            with app.suspend(), app.batch_update(), _interrupts_are_for_it():
                try:
                    code = await run_in_terminal(command)
                except BaseException as error:  # noqa: BLE001  # Textual would not come back from one
                    failure = error
        except SuspendNotSupported:
            raise ConsoleFailed("this terminal can't be handed over to another program") from None
        if failure is not None:
            raise failure
        return code


@contextmanager
def _interrupts_are_for_it() -> Generator[None]:
    """A Ctrl-C at the terminal reaches us too."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, _nothing)  # not SIG_IGN, which the program would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _nothing(number: int, frame: Any) -> None:
    pass
