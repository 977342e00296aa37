"""What a transport owes the peer above it, and what it is owed.

A frame is bytes: one JSON text without a newline. Frames keep their order. Everything happens in the event loop's thread.
"""

from __future__ import annotations

from typing import Protocol

from accord.errors import ConnectionClosed, FrameRejected

__all__ = ["HIGH_WATER", "Receiver", "Transport"]

HIGH_WATER = 64 * 1024


class Receiver(Protocol):
    """Whoever is told what happens on a transport. Of these, only `send_paused` is ever called from within `send()`."""

    def frames_received(self, frames: list[bytes]) -> None:
        """At least one frame, in the order of arrival."""
        ...

    def frame_rejected(self, error: FrameRejected) -> None:
        """Something came that is no frame, or too long for one; it was skipped and the connection lives."""
        ...

    def input_ended(self, reason: ConnectionClosed) -> None:
        """At most once, after the last frame: the other side sends nothing more, but may still read. Close it in time."""
        ...

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Exactly once, and nothing after it."""
        ...

    def send_paused(self) -> None:
        """More than the high-water mark is unsent; told at once, so that a sender which never yields learns it too."""
        ...

    def send_resumed(self) -> None:
        """What was unsent has mostly left."""
        ...


class Transport(Protocol):
    """One connection, opened once and closed once."""

    async def open(self, receiver: Receiver) -> None:
        """Raises `ConnectionClosed` when there is nothing to connect to; cancelled, it leaves nothing behind."""
        ...

    def send(self, frame: bytes) -> None:
        """Never blocks. When nobody is there to read it any more, a frame is dropped: the receiver has been told."""
        ...

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        ...

    def resume_receiving(self) -> None:
        """Calls nothing itself; what was held comes with the next tick."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` and not yet handed to the system; up to date at any moment."""
        ...

    async def aclose(self) -> None:
        """Sends what is unsent within a bound, then releases everything. Safe to call twice, and from any task."""
        ...
