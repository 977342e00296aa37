"""A receiver that writes down what it is told, and lets a test wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from accord.errors import ConnectionClosed, FrameRejected


class Recorder:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.frames: list[bytes] = []
        self.chunks: list[int] = []
        self.refusals: list[FrameRejected] = []
        self.reason: ConnectionClosed | None = None
        self.silence: ConnectionClosed | None = None
        self.on_frames: Callable[[list[bytes]], None] = lambda frames: None
        self._changed = asyncio.Event()

    def frames_received(self, frames: list[bytes]) -> None:
        assert frames
        self._note("frames")
        self.frames += frames
        self.chunks.append(len(frames))
        self.on_frames(frames)

    def frame_rejected(self, error: FrameRejected) -> None:
        self._note("refused")
        self.refusals.append(error)

    def input_ended(self, reason: ConnectionClosed) -> None:
        self._note("ended")
        self.silence = reason

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self._note("lost")
        self.reason = reason

    def send_paused(self) -> None:
        self._note("paused")

    def send_resumed(self) -> None:
        self._note("resumed")

    def _note(self, call: str) -> None:
        assert self.reason is None, f"{call} after connection_lost"
        self.calls.append(call)
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def received(self, count: int) -> list[bytes]:
        await self.until(lambda: len(self.frames) >= count)
        return self.frames

    async def lost(self) -> ConnectionClosed:
        await self.until(lambda: self.reason)
        assert self.reason is not None
        return self.reason


async def a_few_ticks(count: int = 10) -> None:
    """Let everything happen that is due; for proving that nothing does."""
    for _ in range(count):
        await asyncio.sleep(0)
