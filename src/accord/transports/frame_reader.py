"""Delivers received frames to a receiver, in order, with pauses, and the end exactly once.

`FrameDelivery` gets whole frames; `FrameReader` gets the bytes of a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeAlias

import msgspec

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.framing import FrameParser, Framing
from accord.transports.transport import Receiver

# A pause takes effect after at most this many frames, however short they are.
_SLICE = 256


class _InputEnded(msgspec.Struct, frozen=True):
    reason: ConnectionClosed


Event: TypeAlias = list[bytes] | FrameRejected | _InputEnded | ConnectionClosed


class FrameDelivery:
    """Delivers at once unless it is paused.

    After the end of input, holding frames back saves no memory and would only hide the end: from then on a pause lasts
    for one iteration of the loop.
    """

    def __init__(self, receiver: Receiver) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._queue: deque[Event] = deque()
        self._is_closed = False
        self._input_ended = False
        self._is_closing = False
        self.is_paused = False

    @property
    def is_closed(self) -> bool:
        """Whether the receiver knows of the end."""
        return self._is_closed

    def deliver(self, event: list[bytes] | FrameRejected) -> None:
        """Frames, at least one, or a refusal; dropped after the end of input."""
        if not self._input_ended:
            self._deliver(event)

    def pause(self) -> None:
        """Hold all frames from now on."""
        self.is_paused = True
        if self._input_ended:
            self._loop.call_soon(self.resume)

    def resume(self) -> None:
        """Deliver held frames in the next iteration of the loop."""
        if self.is_paused:
            self.is_paused = False
            if self._queue:
                self._loop.call_soon(self._release)

    def end(self, reason: ConnectionClosed) -> None:
        """End of input: delivered after all frames; the receiver can still send."""
        if not self._input_ended:
            self._end_input()
            self._deliver(_InputEnded(reason))

    def lose(self, reason: ConnectionClosed) -> None:
        """As `end`, and nothing can be sent either."""
        if not self._is_closing:
            self._is_closing = True
            self._end_input()
            self._deliver(reason)

    def _end_input(self) -> None:
        if not self._input_ended:
            self._input_ended = True
            if self.is_paused:
                self._loop.call_soon(self.resume)

    def discard(self) -> None:
        """Drop held frames and all further input: this side has closed."""
        self._is_closing = self._input_ended = True
        self._queue.clear()

    def close(self, reason: ConnectionClosed) -> None:
        """Deliver the end now and drop held frames."""
        self.discard()
        self._notify(reason)

    def _deliver(self, event: Event) -> None:
        if self.is_paused or self._queue:
            self._queue.append(event)
        else:
            self._notify(event)
            if self._queue:
                self._release()

    def _release(self) -> None:
        while self._queue and not self.is_paused:
            self._notify(self._queue.popleft())

    def _notify(self, event: Event) -> None:
        if self._is_closed:
            return
        if isinstance(event, list):
            if len(event) > _SLICE:
                slices = [event[start : start + _SLICE] for start in range(0, len(event), _SLICE)]
                self._queue.extendleft(slices[:0:-1])
                event = slices[0]
            self._receiver.frames_received(event)
        elif isinstance(event, FrameRejected):
            self._receiver.frame_rejected(event)
        elif isinstance(event, _InputEnded):
            self._receiver.input_ended(event.reason)
        else:
            self._is_closed = True
            self._receiver.connection_lost(event)


class FrameReader(FrameDelivery):
    """Delivers the frames of a byte stream."""

    def __init__(self, receiver: Receiver, frame_limit: int) -> None:
        super().__init__(receiver)
        self._parser = FrameParser(frame_limit)
        self.count = 0

    @property
    def framing(self) -> Framing | None:
        """The framing of the other side, once it is known."""
        return self._parser.framing

    def feed(self, data: bytes) -> None:
        """Parse bytes from the stream."""
        self.count += 1
        if self._input_ended:
            return
        for result in self._parser.feed(data):
            if self.is_paused or self._queue or self._is_closed or type(result) is not list or len(result) > _SLICE:
                self._deliver(result)
            else:  # nearly always, so without the calls in between
                self._receiver.frames_received(result)
                if self._queue:
                    self._release()

    def _end_input(self) -> None:
        if not self._input_ended:
            for result in self._parser.end():
                self._deliver(result)
        super()._end_input()
