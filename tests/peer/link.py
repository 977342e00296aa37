"""Two ends joined by bytes that travel slowly, in pieces cut anywhere; every delay and cut comes from one seed."""

from __future__ import annotations

import asyncio
import random

from accord.errors import ConnectionClosed
from accord.transports.framing import FrameParser, Framing, join_frames
from accord.transports.transport import Receiver


class End:
    """One end; a Transport."""

    def __init__(self, random: random.Random, high_water: int, framing: Framing) -> None:
        self.other: End = self
        self.random = random
        self.unsent = 0
        self._framing: Framing = framing
        self._cutter = FrameParser()
        self._high_water = high_water
        self._receiver: Receiver | None = None
        self._outgoing = bytearray()
        self._arrived: list[bytes] = []
        self._is_paused = False
        self._is_sending_paused = False
        self._pump: asyncio.TimerHandle | None = None
        self._is_lost = False

    async def open(self, receiver: Receiver) -> None:
        await asyncio.sleep(self.random.random())
        self._receiver = receiver
        asyncio.get_running_loop().call_soon(self._deliver)

    def send(self, frame: bytes) -> None:
        if self._is_lost:
            return
        self._outgoing += join_frames([frame], self._framing)
        self.unsent = len(self._outgoing)
        if self.unsent > self._high_water and not self._is_sending_paused:
            self._is_sending_paused = True
            asyncio.get_running_loop().call_soon(self._tell_paused)
        self._schedule()

    def _tell_paused(self) -> None:
        if self._receiver is not None and self._is_sending_paused and not self._is_lost:
            self._receiver.send_paused()

    def _schedule(self) -> None:
        if self._pump is None:
            self._pump = asyncio.get_running_loop().call_later(self.random.expovariate(20), self._move)

    def _move(self) -> None:
        self._pump = None
        if self._is_lost:
            return
        if not self.other._is_paused:
            size = self.random.choice((1, 3, 10, 50, 1000))
            piece = bytes(self._outgoing[:size])
            del self._outgoing[:size]
            self.unsent = len(self._outgoing)
            self.other._arrived.append(piece)
            asyncio.get_running_loop().call_soon(self.other._deliver)
            if self._is_sending_paused and self.unsent <= self._high_water // 2:
                self._is_sending_paused = False
                if self._receiver is not None:
                    self._receiver.send_resumed()
        if self._outgoing:
            self._schedule()

    def _deliver(self) -> None:
        receiver = self._receiver
        while self._arrived and receiver is not None and not self._is_paused and not self._is_lost:
            for cut in self._cutter.feed(self._arrived.pop(0)):
                if isinstance(cut, list):
                    receiver.frames_received(cut)
                else:
                    receiver.frame_rejected(cut)

    def pause_receiving(self) -> None:
        self._is_paused = True

    def resume_receiving(self) -> None:
        self._is_paused = False
        asyncio.get_running_loop().call_soon(self._deliver)

    async def aclose(self) -> None:
        flushed = 0
        while self._outgoing and not self._is_lost and flushed < 200:
            flushed += 1
            await asyncio.sleep(0.1)
        self.lose("closed by this side")
        self.other.lose("the other side closed")

    def lose(self, reason: str) -> None:
        """The line is cut."""
        if not self._is_lost:
            self._is_lost = True
            if self._receiver is not None:
                self._receiver.connection_lost(ConnectionClosed(reason))


def linked(seed: int, high_water: int = 300, framing: Framing = "newline") -> tuple[End, End]:
    """Both ends of a line."""
    source = random.Random(seed)
    one, two = End(source, high_water, framing), End(source, high_water, framing)
    one.other, two.other = two, one
    return one, two
