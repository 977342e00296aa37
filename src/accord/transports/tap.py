"""Lets an observer see the frames that pass through the connections of a server, and the requests that are refused.

A tap sees each frame once, in order, before it is delivered. A connection without an observer has no tap and pays nothing.
"""

from __future__ import annotations

from typing import Protocol

from accord.errors import ConnectionClosed, FrameRejected
from accord.transports.transport import Identity, Receiver


class Tap(Protocol):
    """Sees the frames of one connection."""

    def received(self, frames: list[bytes]) -> list[bytes]:
        """Frames of the client; the frames to deliver in their place."""
        ...

    def sent(self, frame: bytes) -> None:
        """A frame for the client."""
        ...

    def ended(self) -> None:
        """Exactly once: the connection has ended."""
        ...


class TappedConnection(Protocol):
    """A connection that a tap is made for."""

    id: str
    identity: Identity | None

    @property
    def unsent(self) -> int: ...


class Observer(Protocol):
    """Sees the connections of a server. It is called in the event loop's thread, and never raises."""

    def connected(self, connection: TappedConnection, transport: str) -> Tap:
        """A connection begins; called in the task that serves it. `transport` is `http` or `websocket`."""
        ...

    def refused(self, status: int) -> None:
        """A request was refused with this status."""
        ...


class TappedReceiver:
    """Shows received frames to a tap on their way to the receiver."""

    def __init__(self, receiver: Receiver, tap: Tap) -> None:
        self._receiver = receiver
        self._tap = tap
        self.send_paused = receiver.send_paused
        self.send_resumed = receiver.send_resumed

    def frames_received(self, frames: list[bytes]) -> None:
        self._receiver.frames_received(self._tap.received(frames))

    def frame_rejected(self, error: FrameRejected) -> None:
        self._receiver.frame_rejected(error)

    def input_ended(self, reason: ConnectionClosed) -> None:
        self._receiver.input_ended(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self._receiver.connection_lost(reason)
