"""A transport whose connection sends whole messages: the common part of WebSockets and the HTTP client."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque

from accord.errors import ConnectionClosed
from accord.transports.frame_reader import FrameDelivery
from accord.transports.transport import Receiver


class MessageTransport(ABC):
    """Queues frames for a task that sends them; opening, sending, receiving and closing depend on the connection."""

    def __init__(self, high_water: int) -> None:
        self._high_water = high_water
        self._receiver: Receiver | None = None
        self._delivery: FrameDelivery | None = None
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._is_send_paused = False
        self._is_closed = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._close_task: asyncio.Task[None] | None = None

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        if self._receiver is None:
            raise ConnectionClosed("the connection is not open yet", kind="not_open")
        if self._is_closed:
            return
        self._frames.append(frame)
        self._unsent += len(frame)
        self._wake.set()
        if self._unsent > self._high_water and not self._is_send_paused:
            self._is_send_paused = True
            self._receiver.send_paused()

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        if self._delivery is not None:
            self._delivery.pause()
            self._room.clear()

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        if self._delivery is not None:
            self._delivery.resume()
            self._room.set()

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
        self._room.set()
        return self._delivery

    def _frame_sent(self, size: int) -> None:
        self._unsent -= size
        if self._is_send_paused and self._unsent <= self._high_water // 4:
            self._is_send_paused = False
            if self._receiver is not None and not self._is_closed:
                self._receiver.send_resumed()

    @abstractmethod
    async def _close(self) -> None: ...

    def _readers(self) -> list[asyncio.Task[None]]:
        """Tasks beside the sender that end with the connection."""
        return []

    async def _end_tasks(self, sender: asyncio.Task[None] | None, seconds: float) -> bool:
        """Wait for the sender for so many seconds, then end it and the others; whether the connection was lost before."""
        was_lost, self._is_closed = self._is_closed, True
        self._room.set()
        self._wake.set()
        if sender is not None:
            if not was_lost:
                await asyncio.wait((sender,), timeout=seconds)
            tasks = [sender, *self._readers()]  # the sender may have started a reader
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return was_lost

    def _deliver_close(self) -> None:
        if self._delivery is not None and not self._delivery.is_closed:
            self._delivery.close(ConnectionClosed("closed by this side", kind="closed_here"))
