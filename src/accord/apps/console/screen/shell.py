"""`!command`: run something in the session's directory and see what it says. The agent does not hear of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from accord.apps.console.screen.blocks.remarks import ShellRun
from accord.apps.console.screen.talk import Talk
from accord.client.programs import usual_shell
from accord.errors import ConnectionClosed
from accord.local.exits import exit_of
from accord.transports.capture import Capture, start_capture

__all__ = ["Shell"]


class Shell:
    """One command at a time for each talk; it ends, with all that it started, when it is stopped or the screen goes."""

    def __init__(self) -> None:
        self._running: dict[Talk, asyncio.Task[Capture]] = {}
        """From the moment that each is asked for: the starts, which are never cancelled."""

    def is_running(self, talk: Talk) -> bool:
        return talk in self._running

    def run(self, talk: Talk, command: str) -> Coroutine[Any, Any, None]:
        """Begin at once; what this returns sees the command to its end."""
        block = ShellRun(command)
        talk.story.add(block)

        def heard(piece: bytes) -> None:
            block.heard(piece)
            talk.story.changed(block)

        line = [*usual_shell(), command]
        start = start_capture(line, env=dict(os.environ), cwd=talk.cwd, on_output=heard, terminate_grace=1.0)
        self._running[talk] = asyncio.create_task(start, name="accord shell")
        return self._see_to_its_end(talk, block)

    async def _see_to_its_end(self, talk: Talk, block: ShellRun) -> None:
        starting = self._running[talk]
        try:
            await asyncio.wait((starting,))
            capture = starting.result()
            await asyncio.wait((capture.ended,))
            await capture.end()
            block.ended(exit_of(capture.ended.result()))
        except (ConnectionClosed, OSError) as error:
            block.heard(f"{error}\n".encode())
        finally:
            await self.stop(talk)
            self._running.pop(talk, None)
            talk.story.changed(block)

    async def stop(self, talk: Talk) -> None:
        """End the command that runs there, and all that it started."""
        starting = self._running.get(talk)
        if starting is None:
            return
        await asyncio.wait((starting,))
        if starting.exception() is None:
            await starting.result().end()

    async def aclose(self) -> None:
        """End all of them."""
        for talk in list(self._running):
            await self.stop(talk)
