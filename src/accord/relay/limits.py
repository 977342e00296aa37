"""The limits of a server that starts processes for its clients."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from accord.errors.local_errors import LimitReached

MIB = 1024 * 1024


class RelayLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`idle_seconds` is how long a process lives without anything to do.

    `record_bytes` are kept of each session's updates, `records_bytes` of all together, for clients that attach to it.
    `unread_bytes` may wait for a client that does not read. `rate` is the most requests per second of one user, with
    twice as many at once.
    """

    sessions: int = 1000
    processes: int = 100
    warm: int = 0
    idle_seconds: float = 300.0
    record_bytes: int = 4 * MIB
    records_bytes: int = 256 * MIB
    unread_bytes: int = 16 * MIB
    rate: float = 500.0
    drain_seconds: float = 2.5


class RateLimit:
    """Allows each user so many requests per second, and twice as many at once."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, user: str) -> None:
        """Count a request; LimitReached if it is one too many."""
        now, most = self._clock(), 2 * self._rate
        left, at = self._left.get(user, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if left < 1:
            self._left[user] = left, now
            raise LimitReached(f"rate limit: at most {self._rate:g} requests per second; try again later")
        self._left[user] = left - 1, now
        if len(self._left) > 10_000:
            self._forget(now)

    def _forget(self, now: float) -> None:
        """Forget users who may send as much as one who never did."""
        self._left = {user: (left, at) for user, (left, at) in self._left.items() if now - at < 2}
