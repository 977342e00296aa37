"""What an agent lets go beside the protocol: stderr, and stdout where it should have kept quiet. Kept for its obituary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from accord.transports.tail import Tail

__all__ = ["Heard"]

_KEPT = 16 * 1024
_NOISE_KEPT = 2 * 1024
_MOST_NOISE = 1000


class Heard:
    """The ends of both, bounded; and who wants to see each frame."""

    def __init__(self, on_received: Callable[[bytes], None] | None = None) -> None:
        self._stderr = Tail(_KEPT)
        self._noise = Tail(_NOISE_KEPT)
        self._on_received = on_received
        self.frames = 0
        self.flooded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once so much that is no ACP has come before the first frame that none will."""
        self._noises = 0

    def stderr(self, piece: bytes) -> None:
        """The agent wrote to stderr."""
        self._stderr.add(piece)

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        """A line of either side."""
        if direction == "received":
            if frame.lstrip()[:1] in (b"{", b"["):
                self.frames += 1
            else:
                self._hear_noise(frame)
            if self._on_received is not None:
                self._on_received(frame)

    def _hear_noise(self, line: bytes) -> None:
        self._noises += 1
        if self.frames == 0 and self._noises == _MOST_NOISE:
            self.flooded.set_result(None)
        self._noise.add(line.rstrip(b"\n") + b"\n")

    @property
    def noise(self) -> str:
        """What came on stdout and is no JSON."""
        return self._noise.text

    @property
    def last_words(self) -> str:
        """The end of stderr; of stdout, if that was all."""
        return self._stderr.text or self._noise.text
