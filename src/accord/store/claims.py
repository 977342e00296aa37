"""Claims: the right of one owner at a time to write to a session.

Law: a claim has an epoch, which is higher than that of every claim before it, of whatever session. A store takes nothing
from a claim that is not the newest of its session, so an owner that was taken over can't write, however late it notices.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

from msgspec import Struct

from accord.errors import Fenced, SessionInUse

__all__ = ["Claim", "Owner", "fenced", "in_use"]


class Owner(Struct, frozen=True):
    """Somebody who claims sessions: an agent in a process. All connections of the agent are one owner."""

    id: str
    pid: int
    host: str
    boot: str
    """The same for all processes that a lock of this system can be seen by."""

    @classmethod
    def here(cls) -> Owner:
        """A new owner in this process."""
        return cls(os.urandom(12).hex(), os.getpid(), platform.node(), _boot())


class Claim(Struct, frozen=True):
    """The right to write to a session, until it is released or taken over."""

    session_id: str
    owner: Owner
    epoch: int
    since: str
    lease: float | None = None
    """Seconds within which it has to be renewed; None when it lasts without that."""

    @property
    def key(self) -> tuple[str, int]:
        return self.session_id, self.epoch


def in_use(claim: Claim) -> SessionInUse:
    """The refusal of whoever else wants the session."""
    return SessionInUse(claim.session_id, claim.owner.pid, claim.owner.host, claim.since)


def fenced(session_id: str, holder: Claim | None) -> Fenced:
    """The refusal of a claim that is over; `holder` is the one there is now."""
    if holder is None:
        return Fenced(session_id)
    return Fenced(session_id, holder.owner.pid, holder.owner.host, holder.since)


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()  # containers of one machine share it
    except (OSError, ValueError):
        return platform.node()
