"""Bytes that arrive become calls of a receiver, in order, and none while it has paused."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple, TypeAlias

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.framing import Cutter, Framing
from accord.transports.transport import Receiver

__all__ = ["Arrivals"]

# A pause takes effect after so many frames at the latest, however short they are.
_SLICE = 256


class _Silence(NamedTuple):
    reason: ConnectionClosed


Event: TypeAlias = list[bytes] | FrameRejected | _Silence | ConnectionClosed


class Arrivals:
    """Delivers at once when nothing is held, and tells of the end exactly once, after everything else.

    Once all has been read, holding it back saves no memory, and may keep the end from being seen: from then on a pause
    lasts for one turn of the loop.
    """

    def __init__(self, receiver: Receiver, frame_limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._cutter = Cutter(frame_limit)
        self._held: deque[Event] = deque()
        self._is_over = False
        self._is_silent = False
        self._is_closing = False
        self.is_paused = False
        self.count = 0

    @property
    def framing(self) -> Framing | None:
        """How the other side frames, once that is known."""
        return self._cutter.framing

    @property
    def is_over(self) -> bool:
        """Whether the receiver has been told of the end."""
        return self._is_over

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.count += 1
        if self._is_silent:
            return
        for cut in self._cutter.feed(data):
            self._deliver(cut)

    def pause(self) -> None:
        """Hold everything from now on."""
        self.is_paused = True
        if self._is_silent:
            self._loop.call_soon(self.resume)

    def resume(self) -> None:
        """Release what was held with the next tick."""
        if self.is_paused:
            self.is_paused = False
            if self._held:
                self._loop.call_soon(self._release)

    def end(self, reason: ConnectionClosed) -> None:
        """Nothing more arrives; the receiver, who can still send, learns why after it has got everything before."""
        if not self._is_silent:
            self._fall_silent()
            self._deliver(_Silence(reason))

    def lose(self, reason: ConnectionClosed) -> None:
        """As `end`, and nothing can be sent either."""
        if not self._is_closing:
            self._is_closing = True
            self._fall_silent()
            self._deliver(reason)

    def _fall_silent(self) -> None:
        if not self._is_silent:
            for cut in self._cutter.end():
                self._deliver(cut)
            self._is_silent = True
            if self.is_paused:
                self._loop.call_soon(self.resume)

    def discard(self) -> None:
        """Drop what is held and what still arrives: this side has closed."""
        self._is_closing = self._is_silent = True
        self._held.clear()

    def close(self, reason: ConnectionClosed) -> None:
        """Tell of the end now, whatever was held."""
        self.discard()
        self._hand_over(reason)

    def _deliver(self, event: Event) -> None:
        if self.is_paused or self._held:
            self._held.append(event)
        else:
            self._hand_over(event)
            if self._held:
                self._release()

    def _release(self) -> None:
        while self._held and not self.is_paused:
            self._hand_over(self._held.popleft())

    def _hand_over(self, event: Event) -> None:
        if self._is_over:
            return
        if isinstance(event, list):
            if len(event) > _SLICE:
                slices = [event[start : start + _SLICE] for start in range(0, len(event), _SLICE)]
                self._held.extendleft(slices[:0:-1])
                event = slices[0]
            self._receiver.frames_received(event)
        elif isinstance(event, FrameRejected):
            self._receiver.frame_refused(event)
        elif isinstance(event, _Silence):
            self._receiver.input_ended(event.reason)
        else:
            self._is_over = True
            self._receiver.connection_lost(event)
