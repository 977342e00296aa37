"""A transport whose connection sends whole messages: the common part of WebSockets and the HTTP client."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameDelivery
from accord.transports.transport import Receiver


class MessageTransport(ABC):
    """Queues frames; opening, sending, receiving and closing depend on the connection."""

    def __init__(self, high_water: int) -> None:
        self._high_water = high_water
        self._receiver: Receiver | None = None
        self._delivery: FrameDelivery | None = None
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._is_send_paused = False
        self._is_closed = False
        self._close_task: asyncio.Task[None] | None = None

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        if self._receiver is None:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        if self._is_closed:
            return
        self._frames.append(frame)
        self._unsent += len(frame)
        self._frame_waits()
        if self._unsent > self._high_water and not self._is_send_paused:
            self._is_send_paused = True
            self._receiver.send_paused()

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        if self._delivery is not None:
            self._delivery.pause()

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        if self._delivery is not None:
            self._delivery.resume()

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` that were not sent."""
        return self._unsent

    async def aclose(self) -> None:
        """Sends unsent frames within a time limit, then closes. Safe to call twice, and from any task."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self._close(), name="accord transport closing")
        await asyncio.shield(self._close_task)

    def _check_not_closed(self) -> None:
        if self._is_closed:
            raise ConnectionClosed("closed before it was open", kind="not_open")

    def _attach(self, receiver: Receiver) -> FrameDelivery:
        self._receiver = receiver
        self._delivery = FrameDelivery(receiver)
        return self._delivery

    def _frame_sent(self, size: int) -> None:
        self._unsent -= size
        if self._is_send_paused and self._unsent <= self._high_water // 4:
            self._is_send_paused = False
            if self._receiver is not None and not self._is_closed:
                self._receiver.send_resumed()

    @abstractmethod
    def _frame_waits(self) -> None:
        """Send the queue, now or soon; called from within `send()`, so it must not resume the sender."""

    @abstractmethod
    async def _close(self) -> None: ...

    def _deliver_close(self) -> None:
        if self._delivery is not None and not self._delivery.is_closed:
            self._delivery.close(ConnectionClosed("closed by this side", kind="closed_here"))
