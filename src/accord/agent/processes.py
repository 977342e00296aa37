"""A command of ours with nothing to read, whose output is followed, and which is ended with everything it started.

Also when this process is killed: a guard stands in front of every command. Who follows too slowly slows the command.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from accord.local.exits import exit_of
from accord.session.entities import Exit
from accord.transports.capture import Capture, start_capture
from accord.transports.tail import Tail

__all__ = ["Running", "start"]

_WAITING = 256 * 1024  # bytes that nobody has taken yet
_GRACE = 1.0  # below that of a cancelled turn, which should see the end


async def start(words: Sequence[str], cwd: str, env: Mapping[str, str], limit: int, *, memory: int = 0) -> Running:
    """Start it; `env` is the whole environment. `ConnectionClosed` says what to do when it can't be started."""
    running = Running(limit)
    running.capture = await start_capture(
        words, env=env, cwd=cwd, on_output=running.heard, terminate_grace=_GRACE, memory=memory
    )
    running.capture.ended.add_done_callback(running.wake)
    return running


class Running:
    """Iterate over it for what the command writes; of all that, the last `limit` bytes are kept."""

    capture: Capture

    def __init__(self, limit: int) -> None:
        self._tail = Tail(limit)
        self._pieces: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()

    @property
    def output(self) -> str:
        """What was kept."""
        return self._tail.text

    @property
    def is_truncated(self) -> bool:
        """Whether the beginning of the output is gone."""
        return self._tail.is_truncated

    def heard(self, piece: bytes) -> None:
        """The command has written something."""
        self._tail.add(piece)
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _WAITING:
            self.capture.pause()
        self._news.set()

    def wake(self, ended: object) -> None:
        """It has ended."""
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self.capture.ended.done() or self._pieces:
            await self._news.wait()
            self._news.clear()
            if self._pieces:
                yield self.taken()

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self.capture.resume()
        return piece

    async def end(self) -> Exit:
        """End whatever of it still runs, in bounded time; how the command ended."""
        await self.capture.end()
        self._tail.finish()
        return exit_of(await self.capture.ended)
