"""The protocols between a transport and the peer that uses it.

A frame is bytes: one JSON text without a newline. Frames keep their order. All calls are made in the event loop's thread.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from accord.errors import ConnectionClosed, FrameRejected

HIGH_WATER = 64 * 1024


class Identity(Struct, frozen=True):
    """The user at the other end, and the id of the token that proved it; None where something else did."""

    user: str
    token: str | None = None


class Receiver(Protocol):
    """The callbacks of a transport. Only `send_paused` is ever called from within `send()`."""

    def frames_received(self, frames: list[bytes]) -> None:
        """At least one frame, in the order of arrival."""
        ...

    def frame_rejected(self, error: FrameRejected) -> None:
        """The input was not a frame, or too long for one; it was skipped and the connection goes on."""
        ...

    def input_ended(self, reason: ConnectionClosed) -> None:
        """At most once, after the last frame: the other side sends nothing more, but may still read. Close it soon."""
        ...

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Exactly once, and nothing after it."""
        ...

    def send_paused(self) -> None:
        """More than the high-water mark is unsent; called at once, so that a sender which never yields is stopped too."""
        ...

    def send_resumed(self) -> None:
        """Most of the unsent bytes were written."""
        ...


class Transport(Protocol):
    """One connection, opened once and closed once."""

    async def open(self, receiver: Receiver) -> None:
        """Raises `ConnectionClosed` if the connection fails; if cancelled, it releases everything."""
        ...

    def send(self, frame: bytes) -> None:
        """Never blocks. A frame that nobody can read any more is dropped: the receiver knows."""
        ...

    def pause_receiving(self) -> None:
        """No call of `frames_received` or `frame_rejected` until resumed."""
        ...

    def resume_receiving(self) -> None:
        """Calls nothing itself; held frames are delivered in the next iteration of the loop."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes accepted by `send()` and not yet passed to the system; always up to date."""
        ...

    async def aclose(self) -> None:
        """Sends unsent bytes within a time limit, then releases everything. Safe to call twice, and from any task."""
        ...
