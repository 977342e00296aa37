"""What an agent lets go beside the protocol: stderr, and stdout where it should have kept quiet. Kept for its obituary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from accord.errors.escape_sequences import clean_output
from accord.transports.output_tail import Tail

__all__ = ["Heard"]

_KEPT = 16 * 1024
_NOISE_KEPT = 2 * 1024
_TOO_LONG = b"longer than the limit"
_REFUSAL = b'{"jsonrpc":"2.0","id":null,"error"'


class Heard:
    """The ends of both, bounded; and who wants to see each frame, or hear of one that was too long to be taken."""

    def __init__(
        self, on_received: Callable[[bytes], None] | None = None, on_too_long: Callable[[], None] | None = None
    ) -> None:
        self._stderr = Tail(_KEPT)
        self._noise = Tail(_NOISE_KEPT)
        self._on_received = on_received
        self._on_too_long = on_too_long
        self._first_sent: bytes | None = None
        self.frames = 0
        """How many messages of the protocol came."""
        self.is_echo = False
        """Whether it says what it was told: it is no agent."""

    def stderr(self, piece: bytes) -> None:
        """The agent wrote to stderr."""
        self._stderr.add(piece)

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        """A line of either side."""
        if direction == "received":
            if _is_of_the_protocol(frame):
                self.is_echo = self.is_echo or (self.frames == 0 and frame.strip() == self._first_sent)
                self.frames += 1
            else:
                self._noise.add(frame.rstrip(b"\n") + b"\n")
            if self._on_received is not None:
                self._on_received(frame)
            return
        if self._first_sent is None:
            self._first_sent = frame.strip()
        if self._on_too_long is not None and frame.startswith(_REFUSAL) and _TOO_LONG in frame:
            self._on_too_long()  # what was refused is no frame; that we refuse it is one

    @property
    def noise(self) -> str:
        """What came on stdout and is no message of the protocol."""
        return clean_output(self._noise.text)

    @property
    def complaints(self) -> str:
        """The end of stderr, without colours and other terminal sequences."""
        return clean_output(self._stderr.text)

    @property
    def last_words(self) -> str:
        """The end of stderr; of stdout, if that was all."""
        return self.complaints or self.noise


def _is_of_the_protocol(frame: bytes) -> bool:
    """Whether it looks like a message; what JSON a program logs does not."""
    is_json = frame.lstrip()[:1] in (b"{", b"[")
    return is_json and (b'"jsonrpc"' in frame or (b'"id"' in frame and (b'"result"' in frame or b'"error"' in frame)))
