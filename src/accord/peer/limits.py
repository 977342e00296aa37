"""How much a peer may make us hold. Every number is in bytes unless its name says otherwise."""

from __future__ import annotations

import msgspec

__all__ = ["Limits"]

MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Past a soft limit we stop reading (when that can't deadlock); past a hard one the connection fails, saying why."""

    inbox: int = 4 * MIB
    inbox_hard: int = 128 * MIB
    unsent: int = 4 * MIB
    unsent_hard: int = 256 * MIB
    open_requests: int = 4096
    open_requests_hard: int = 65536
    open_request_bytes_hard: int = 256 * MIB
    malformed_in_a_row: int = 1000
    answer_grace_seconds: float = 2.5
    close_grace_seconds: float = 5.0
