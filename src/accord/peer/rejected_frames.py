"""What came and is no good message: how much of it is read in one turn, when it is enough, what the log is told.

Law: noise between messages never ends a connection (FN-32); noise in place of messages does, and never keeps the loop busy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from accord.errors import ConnectionClosed, FrameRejected
from accord.peer.limited_log import LimitedLog

__all__ = ["Refusals"]

log = logging.getLogger("accord.peer")

_AT_ONCE = 100
_SHOWN = 3
_SHOWN_BYTES = 80


class Refusals:
    """Counts them for one connection; `rest` lets the loop do something else first, `give_up` ends the connection."""

    def __init__(
        self,
        most_in_a_row: int,
        limited: LimitedLog,
        rest: Callable[[], None],
        give_up: Callable[[ConnectionClosed], None],
    ) -> None:
        self._most = most_in_a_row
        self._limited = limited
        self._rest = rest
        self._give_up = give_up
        self._all = 0
        self._newest = 0
        self._reason = ""
        self._first: list[bytes] = []
        self.in_a_row = 0
        """How many frames were malformed, and not one of them a message, up to now."""

    def add(self, frame: bytes, reason: str, *, is_malformed: bool) -> None:
        """A frame was refused; one that is at least a call is not malformed."""
        self._count()
        self._limited.warning(log, "refused: %s", reason)
        if not is_malformed:
            return
        self._newest += 1
        self.in_a_row += 1
        if len(self._first) < _SHOWN:
            self._first.append(frame[: _SHOWN_BYTES + 1])
        self._reason = reason

    def ignored(self, reason: str, *, is_normal: bool) -> None:
        """A message was ignored; not worth a warning if that comes of an ordinary race."""
        self._count()
        tell = self._limited.debug if is_normal else self._limited.warning
        tell(log, "ignored: %s", reason)

    def not_taken_in(self, method: str, error: Exception) -> None:
        """A notification does not fit its type, or there is a fault of ours."""
        self._count()
        self._limited.failure(log, error, "%s could not be taken in", method)

    def _count(self) -> None:
        self._all += 1
        if self._all % _AT_ONCE == 0:
            self._rest()

    def heard(self, frames: int) -> None:
        """So many frames have come since the last call. If one of them was a message, the row begins anew."""
        if self._newest < frames:
            self.in_a_row = 0
            self._first.clear()
        elif self.in_a_row >= self._most:
            closed = ConnectionClosed(
                f"{self.in_a_row} lines in a row were no ACP, the first of them {', '.join(map(_shown, self._first))}",
                kind="bad_frames",
            )
            closed.__cause__ = FrameRejected(self._reason)
            self._give_up(closed)
        self._newest = 0


def _shown(frame: bytes) -> str:
    text = frame[:_SHOWN_BYTES].decode(errors="replace")
    return repr(f"{text}…" if len(frame) > _SHOWN_BYTES else text)
