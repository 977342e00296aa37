"""Rejected and ignored frames: logs them, pauses reading when there are many, and gives up when nothing else arrives.

Law: noise between messages never ends a connection (FN-32). Noise instead of messages does, and never blocks the loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from accord.errors import ConnectionClosed, FrameRejected
from accord.peer.limited_log import LimitedLog

log = logging.getLogger("accord.peer")

_FRAMES_PER_PAUSE = 100
_QUOTED_FRAMES = 3
_QUOTED_BYTES = 80


class RejectedFrames:
    """Counts them for one connection; `pause` lets the loop do other work first, `give_up` ends the connection."""

    def __init__(
        self,
        limit_in_a_row: int,
        limited_log: LimitedLog,
        pause: Callable[[], None],
        give_up: Callable[[ConnectionClosed], None],
    ) -> None:
        self._limit = limit_in_a_row
        self._limited_log = limited_log
        self._pause = pause
        self._give_up = give_up
        self._count = 0
        self._newest = 0
        self._reason = ""
        self._first: list[bytes] = []
        self.in_a_row = 0
        """The number of malformed frames since the last valid message."""

    def add(self, frame: bytes, reason: str, *, is_malformed: bool) -> None:
        """A frame was rejected; an invalid request is not malformed."""
        self._add()
        self._limited_log.warning(log, "rejected: %s", reason)
        if not is_malformed:
            return
        self._newest += 1
        self.in_a_row += 1
        if len(self._first) < _QUOTED_FRAMES:
            self._first.append(frame[: _QUOTED_BYTES + 1])
        self._reason = reason

    def add_ignored(self, reason: str, *, is_normal: bool) -> None:
        """A message was ignored; without a warning if that is normal."""
        self._add()
        write = self._limited_log.debug if is_normal else self._limited_log.warning
        write(log, "ignored: %s", reason)

    def add_failed(self, method: str, error: Exception) -> None:
        """A notification does not fit its type, or its handling failed."""
        self._add()
        self._limited_log.failure(log, error, "%s could not be handled", method)

    def _add(self) -> None:
        self._count += 1
        if self._count % _FRAMES_PER_PAUSE == 0:
            self._pause()

    def frames_received(self, frames: int) -> None:
        """The number of frames since the last call. If one of them was a valid message, counting starts again."""
        if self._newest < frames:
            self.in_a_row = 0
            self._first.clear()
        elif self.in_a_row >= self._limit:
            quotes = ", ".join(map(_quote, self._first))
            reason = f"{self.in_a_row} lines in a row were not ACP messages, beginning with {quotes}"
            closed = ConnectionClosed(reason, kind="bad_frames")
            closed.__cause__ = FrameRejected(self._reason)
            self._give_up(closed)
        self._newest = 0


def _quote(frame: bytes) -> str:
    text = frame[:_QUOTED_BYTES].decode(errors="replace")
    return repr(f"{text}…" if len(frame) > _QUOTED_BYTES else text)
