"""The limits of a connection: how much it may hold in memory, and how long it waits when it closes."""

from __future__ import annotations

import msgspec

MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Above a soft limit reading pauses (if that cannot deadlock); above a hard limit the connection fails with the reason."""

    queue_bytes: int = 4 * MIB
    queue_bytes_hard: int = 128 * MIB
    unsent_bytes: int = 4 * MIB
    unsent_bytes_hard: int = 256 * MIB
    open_requests: int = 4096
    open_requests_hard: int = 65536
    open_request_bytes_hard: int = 256 * MIB
    malformed_in_a_row: int = 1000
    response_grace_seconds: float = 2.5
    close_grace_seconds: float = 5.0
