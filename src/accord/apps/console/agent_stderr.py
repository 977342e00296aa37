"""Captures the agent's stderr and stray stdout, for error messages.

Only the end of each is kept, so a chatty agent costs a bounded amount of memory.
"""

from __future__ import annotations

from typing import Literal

from accord.errors.escape_sequences import clean_output
from accord.transports.output_tail import OutputTail

__all__ = ["AgentOutput"]

_STDERR_BYTES = 16 * 1024
_STRAY_BYTES = 2 * 1024


class AgentOutput:
    """What an agent printed beside the protocol, and how many protocol messages it sent."""

    def __init__(self) -> None:
        self._stderr = OutputTail(_STDERR_BYTES)
        self._stray = OutputTail(_STRAY_BYTES)
        self._first_sent: bytes | None = None
        self.messages = 0
        """The number of protocol messages received."""
        self.is_echo = False
        """Whether it repeats what it receives, as `cat` does: it is not an agent."""

    def add_stderr(self, data: bytes) -> None:
        self._stderr.add(data)

    def add_frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        """A line of either side."""
        if direction == "sent":
            self._first_sent = self._first_sent or frame.strip()
        elif _is_message(frame):
            self.is_echo = self.is_echo or (self.messages == 0 and frame.strip() == self._first_sent)
            self.messages += 1
        else:
            self._stray.add(frame.rstrip(b"\n") + b"\n")

    @property
    def stray_stdout(self) -> str:
        """The end of what came on stdout and is not a protocol message."""
        return clean_output(self._stray.text)

    @property
    def stderr(self) -> str:
        """The end of stderr, without terminal escape sequences."""
        return clean_output(self._stderr.text)

    @property
    def tail(self) -> str:
        """The end of stderr; without any, the end of the stray stdout."""
        return self.stderr or self.stray_stdout


def _is_message(frame: bytes) -> bool:
    """Whether it looks like a protocol message. JSON that a program logs does not."""
    is_json = frame.lstrip()[:1] in (b"{", b"[")
    return is_json and (b'"jsonrpc"' in frame or (b'"id"' in frame and (b'"result"' in frame or b'"error"' in frame)))
