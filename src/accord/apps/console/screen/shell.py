"""`!command`: run something in the session's directory and see what it says. The agent does not hear of it."""

from __future__ import annotations

import os

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
        self._running: dict[Talk, Capture] = {}

    def is_running(self, talk: Talk) -> bool:
        return talk in self._running

    async def run(self, talk: Talk, command: str) -> None:
        """Returns when the command has ended."""
        block = ShellRun(command)
        talk.story.add(block)

        def heard(piece: bytes) -> None:
            block.heard(piece)
            talk.story.changed(block)

        try:
            capture = await start_capture(
                [*usual_shell(), command], env=dict(os.environ), cwd=talk.cwd, on_output=heard, terminate_grace=1.0
            )
        except (ConnectionClosed, OSError) as error:
            heard(f"{error}\n".encode())
            return
        self._running[talk] = capture
        try:
            code = await capture.ended
        finally:
            self._running.pop(talk, None)
            await capture.end()
        block.ended(exit_of(code))
        talk.story.changed(block)

    async def stop(self, talk: Talk) -> None:
        """End the command that runs there."""
        capture = self._running.get(talk)
        if capture is not None:
            await capture.end()

    async def aclose(self) -> None:
        """End all of them."""
        for talk in list(self._running):
            await self.stop(talk)
